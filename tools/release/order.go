package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// follows returns why a version may not come after the tags that there are, if that is so.
// Contained are those of them that are part of what is released. A version is later than
// all others, or the next patch of an older minor.
func follows(version string, all, contained []string) error {
	if slices.Contains(all, version) {
		return fmt.Errorf("there is a tag %s already", version)
	}
	if last := latest(contained, ""); semver.Compare(last, version) > 0 {
		return fmt.Errorf("this commit contains %s, which is later than %s: a patch of an older minor is made on a branch from its last tag", last, version)
	}
	newest := latest(all, "")
	if semver.Compare(newest, version) < 0 {
		return nil
	}
	minor := semver.MajorMinor(version)
	before := latest(all, minor)
	if before == "" {
		return fmt.Errorf("there is a tag %s already, and none of %s, of which %s could be a patch", newest, minor, version)
	}
	if next := successor(before); version != next {
		return fmt.Errorf("there is a tag %s already, so of %s only the next patch can be released: it is %s", newest, minor, next)
	}
	return nil
}

// latest is the latest of the tags that are versions, of a minor if one is given; "" if
// there is none.
func latest(tags []string, minor string) string {
	last := ""
	for _, t := range tags {
		if semver.IsValid(t) && (minor == "" || semver.MajorMinor(t) == minor) && semver.Compare(t, last) > 0 {
			last = t
		}
	}
	return last
}

// successor is the next patch after a version; after a pre-release, what it precedes.
func successor(version string) string {
	release := strings.TrimSuffix(semver.Canonical(version), semver.Prerelease(version))
	if release != semver.Canonical(version) {
		return release
	}
	minor := semver.MajorMinor(version)
	patch, _ := strconv.Atoi(strings.TrimPrefix(release, minor+".")) // it is canonical
	return fmt.Sprintf("%s.%d", minor, patch+1)
}

// branch is where a version is pushed to.
func branch(version string, all []string) string {
	if semver.Compare(latest(all, ""), version) < 0 {
		return "main"
	}
	return "release-" + semver.MajorMinor(version)
}
