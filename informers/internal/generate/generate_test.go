package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesAreCurrent: what the generator writes is what is there; run
// `go generate ./informers` after changing it, or the versions of client-go.
func TestFilesAreCurrent(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	fresh := t.TempDir()
	t.Chdir(fresh)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	have, want := generated(t, root), generated(t, fresh)
	if len(want) < 100 {
		t.Fatalf("the generator wrote %d files, expected more than a hundred", len(want))
	}
	all := maps.Clone(have)
	maps.Copy(all, want)
	for name := range all {
		if have[name] != want[name] {
			t.Errorf("informers/%s is not what the generator writes: run go generate ./informers", name)
		}
	}
}

// generated reads the generated files below a folder.
func generated(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(e.Name(), "zz_generated") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, name)
		files[below] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestVersionsAreThoseOfTheModules: the generator reads the minors that the
// packages are built with.
func TestVersionsAreThoseOfTheModules(t *testing.T) {
	for file, line := range map[string]string{
		"go.mod":    "k8s.io/client-go " + newer,
		"go036.mod": "k8s.io/client-go => k8s.io/client-go " + older,
	} {
		text, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s does not say %q", file, line)
		}
	}
}
