package controllerruntime

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kinform/kinform/test/apiserver/servers"
)

// upstreamTests are files of controller-runtime that test its cache from outside, on
// servers of their own.
var upstreamTests = []string{
	"pkg/cache/cache_suite_test.go",
	"pkg/cache/cache_test.go",
	"pkg/cache/informer_cache_test.go",
	"pkg/client/consistency_envtest_test.go",
}

// onOurs changes them: the cache, and the package that they are in.
func onOurs(text string) string {
	ours := strings.NewReplacer("cache.New(", "ctrlcache.New(", "(cache.New,", "(ctrlcache.New,").Replace(text)
	if ours != text {
		ours = strings.Replace(ours, "\nimport (\n", "\nimport (\n\t\"github.com/kinform/kinform/ctrlcache\"\n", 1)
	}
	return strings.Replace(ours, "package client_test", "package cache_test", 1)
}

// TestUpstream: controller-runtime's own tests of its cache pass with ours.
func TestUpstream(t *testing.T) {
	programs, err := servers.Dir()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-count=1", "-overlay", overlay(t), "./upstream")
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+programs)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ran := regexp.MustCompile(`Ran [1-9]\d* of (\d+) Specs`).FindString(string(out))
	if ran == "" {
		t.Fatalf("no tests were run:\n%s", out)
	}
	t.Log(ran)
}

// overlay returns the name of a file that tells go where the tests are.
func overlay(t *testing.T) string {
	t.Helper()
	from, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("upstream")
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	replace := map[string]string{}
	for _, name := range upstreamTests {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(from)), name))
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		replace[filepath.Join(folder, base)] = filepath.Join(temp, base)
		write(t, filepath.Join(temp, base), []byte(onOurs(string(text))))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temp, "overlay.json")
	write(t, file, text)
	return file
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
