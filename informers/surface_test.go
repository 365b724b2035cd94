package informers_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/surface"
)

const (
	theirRoot = "k8s.io/client-go/informers"
	ourRoot   = "github.com/kinform/kinform/informers"
)

// TestSurface: a program that compiles with client-go's informers compiles with
// these. It fails when client-go grows, by a name or by a package.
func TestSurface(t *testing.T) {
	out, err := exec.Command("go", "list", theirRoot+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Fields(string(out))
	if len(theirs) < 60 {
		t.Fatalf("go list found %d packages of client-go's informers, expected dozens", len(theirs))
	}
	paths := theirs
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
