package informers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/surface"
)

const (
	theirRoot = "k8s.io/client-go/informers"
	ourRoot   = "github.com/kinform/kinform/informers"
	// onlyBefore is in the older of the two minors alone, and has no counterpart:
	// the newer could not be built with it.
	onlyBefore = theirRoot + "/scheduling/v1alpha2"
)

// TestSurface: a program that compiles with client-go's informers compiles with
// these. It fails when client-go grows, by a name or by a package.
func TestSurface(t *testing.T) {
	theirs, err := surface.Packages(theirRoot + "/...")
	if err != nil {
		t.Fatal(err)
	}
	theirs = slices.DeleteFunc(theirs, func(path string) bool { return path == onlyBefore })
	if len(theirs) < 60 {
		t.Fatalf("go list found %d packages of client-go's informers, expected dozens", len(theirs))
	}
	paths := slices.Clone(theirs)
	for _, path := range theirs {
		paths = append(paths, ourRoot+strings.TrimPrefix(path, theirRoot))
	}
	loaded, err := surface.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range theirs {
		for _, line := range surface.Compare(loaded[i], loaded[len(theirs)+i]) {
			t.Errorf("%s: %s", path, line)
		}
	}
}
