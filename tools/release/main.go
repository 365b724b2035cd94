// Command release makes a version of the modules that are published, and tries it before
// anybody can see it:
//
//	go -C tools/release run . -version v0.1.0
//
// It works in a clone. There the modules are made to require each other at the new
// version, and get their tags. Then a program outside the repository is built with them,
// as a user would do it, from a module proxy in a folder. In the end it prints the
// commands that publish the version; nothing is pushed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

// rootModule is the module at the root, and published the folders of the others that are
// published, which require it.
const rootModule = "github.com/kinform/kinform"

var published = []string{"ctrlcache", "metrics", "tracing"}

func main() {
	version := flag.String("version", "", "of the release, such as v0.1.0")
	keep := flag.String("keep", "", "a folder for the clone with the tags (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *version, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(ctx context.Context, version, clone string) error {
	if semver.Canonical(version) != version || version == "" {
		return fmt.Errorf("%q is no version: -version v0.1.0 is one", version)
	}
	top, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if err := ready(ctx, top, version); err != nil {
		return err
	}
	all, err := output(ctx, top, "git", "tag", "--list", "v*")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "kinform-release")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if clone == "" {
		clone = filepath.Join(work, "clone")
	}
	if err := tag(ctx, top, clone, version); err != nil {
		return err
	}
	if err := try(ctx, clone, work, version); err != nil {
		return fmt.Errorf("a program that requires %s cannot be built: %w", version, err)
	}
	fmt.Printf("%s works. To publish it, run this again with -keep FOLDER, look at its last commit, and then\n", version)
	fmt.Printf("  git -C FOLDER push --atomic https://%s HEAD:%s %s\n", rootModule, branch(version, strings.Fields(all)), strings.Join(tags(version), " "))
	return nil
}

// tags are those of a version, one for each module.
func tags(version string) []string {
	all := []string{version}
	for _, dir := range published {
		all = append(all, dir+"/"+version)
	}
	return all
}

// ready returns what is missing for a release, if anything is.
func ready(ctx context.Context, top, version string) error {
	changed, err := output(ctx, top, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return errors.New("there are changes that are not committed:\n" + changed)
	}
	changes, err := os.ReadFile(filepath.Join(top, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(changes), "\n## "+version) {
		return fmt.Errorf("CHANGELOG.md has no section %q: rename \"Unreleased\"", "## "+version)
	}
	all, err := output(ctx, top, "git", "tag", "--list", "v*")
	if err != nil {
		return err
	}
	contained, err := output(ctx, top, "git", "tag", "--list", "v*", "--merged", "HEAD")
	if err != nil {
		return err
	}
	return follows(version, strings.Fields(all), strings.Fields(contained))
}

// tag makes the clone, with the commit and the tags of the version.
func tag(ctx context.Context, top, clone, version string) error {
	if err := run(ctx, top, "git", "clone", "--quiet", top, clone); err != nil {
		return err
	}
	for _, dir := range published {
		if err := run(ctx, filepath.Join(clone, dir), "go", "mod", "edit", "-require="+rootModule+"@"+version); err != nil {
			return err
		}
		if err := run(ctx, filepath.Join(clone, dir), "go", "build", "./..."); err != nil {
			return err
		}
	}
	if err := run(ctx, clone, "git", "commit", "--quiet", "-am", "Release "+version); err != nil {
		return err
	}
	for _, t := range tags(version) {
		if err := run(ctx, clone, "git", "tag", t); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command, whose output is shown.
func run(ctx context.Context, dir, name string, args ...string) error {
	fmt.Println("+", name, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	return cmd.Run()
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
