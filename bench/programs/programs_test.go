package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/test/apiserver/servers"
)

func TestSwapImports(t *testing.T) {
	const before = `package app

import (
	"k8s.io/client-go/informers"
	meta "k8s.io/client-go/metadata"
)

var path = "k8s.io/client-go/informers"
`
	swaps := []Swap{{"k8s.io/client-go/informers", "example.com/i"}, {"k8s.io/client-go/metadata", "example.com/m"}}
	got, err := swapImports([]byte(before), swaps)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, `"k8s.io/client-go/informers"`, `"example.com/i"`, 1)
	want = strings.Replace(want, `"k8s.io/client-go/metadata"`, `"example.com/m"`, 1)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = swapImports([]byte(before), []Swap{{"k8s.io/client-go/tools/cache", "example.com/c"}})
	if err == nil || !strings.Contains(err.Error(), `does not import "k8s.io/client-go/tools/cache"`) {
		t.Errorf("an import that is not there must be an error that names it, got %v", err)
	}
}

func TestHashTreeCountsWhatIsCompiled(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hash := func() string {
		t.Helper()
		h, err := hashTree(root)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	write("go.mod", "module example.com/a")
	write("a.go", "package a")
	first := hash()
	for _, name := range []string{"a_test.go", "README.md", ".git/x.go", "sub/go.mod", "sub/b.go"} {
		write(name, "text")
		if hash() != first {
			t.Errorf("%s is not compiled, and changes the hash", name)
		}
	}
	write("inner/c.go", "package inner")
	second := hash()
	write("a.go", "package a // changed")
	if third := hash(); second == first || third == second {
		t.Errorf("a file that is compiled does not change the hash: %s, %s, %s", first, second, third)
	}
}

func TestRemoveOldKeepsTheLatest(t *testing.T) {
	home := t.TempDir()
	now := time.Now()
	for i, name := range []string{"stock", swappedPrefix + "new", swappedPrefix + "older", swappedPrefix + "oldest"} {
		folder := filepath.Join(home, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(folder, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOld(home, 2); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got, want := strings.Join(left, " "), "kinform-new kinform-older stock"; got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// What is swapped has to be in the files of the Kubernetes that is built, which has to
// be the one whose version the programs tell.
func TestSwapsFitThePinnedKubernetes(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if want := kubernetesModule + " " + servers.Kubernetes; !strings.Contains(string(mod), want) {
		t.Fatalf("kubernetes/go.mod does not ask for %s", want)
	}
	source, err := Builder{Module: "kubernetes"}.linkSource(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Program{ControllerManager, Scheduler} {
		if _, err := p.overlay(source, t.TempDir()); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
