package servers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The folder of the programs is named after the constants, the programs are
// built from the go.mod files.
func TestPinsAgreeWithVersions(t *testing.T) {
	for _, p := range Programs {
		t.Run(p.Name, func(t *testing.T) {
			if err := p.checkPin(t.Context(), p.Module); err != nil {
				t.Error(err)
			}
			other := p
			other.Version = "v0.0.1"
			if err := other.checkPin(t.Context(), p.Module); err == nil || !strings.Contains(err.Error(), "make them agree") {
				t.Errorf("a module that pins another version must be refused, got: %v", err)
			}
		})
	}
}

// Kubernetes v1.x.y is made of staging modules that are released as v0.x.y; one
// of another release would compile, and behave like neither.
func TestStagingModulesAreOfTheSameRelease(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	want := "v0" + strings.TrimPrefix(Kubernetes, "v1")
	replacements := regexp.MustCompile(`(?m)^\s*(k8s\.io/\S+) => k8s\.io/\S+ (\S+)$`).FindAllStringSubmatch(string(mod), -1)
	if len(replacements) < 30 {
		t.Fatalf("found %d replaced staging modules, want all of them", len(replacements))
	}
	for _, r := range replacements {
		if r[2] != want {
			t.Errorf("%s is replaced by %s, want %s", r[1], r[2], want)
		}
	}
}

func TestPathOfAMissingProgramSaysHowToBuildIt(t *testing.T) {
	emptyCache(t)
	_, err := Path("etcd")
	if err == nil || !strings.Contains(err.Error(), BuildCommand) {
		t.Errorf("got %v, want an error with %q", err, BuildCommand)
	}
}

func TestBuildLeavesPresentProgramsAlone(t *testing.T) {
	emptyCache(t)
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range Programs {
		if err := os.WriteFile(filepath.Join(dir, p.Name), []byte("built"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var progress strings.Builder
	// There are no modules at this place: building anything would fail.
	if err := Build(t.Context(), t.TempDir(), &progress); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(progress.String(), "is there"); lines != len(Programs) {
		t.Errorf("want a line for each of %d programs, got:\n%s", len(Programs), &progress)
	}
	if err := os.Remove(filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	if err := Build(t.Context(), t.TempDir(), &progress); err == nil || !strings.Contains(err.Error(), "run this from test/apiserver") {
		t.Errorf("a build in the wrong folder must say where to run it, got: %v", err)
	}
}

// emptyCache gives the test a user's cache folder of its own.
func emptyCache(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
}
