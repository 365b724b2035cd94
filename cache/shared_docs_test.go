package cache_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferencesAreListed: each difference that is pinned here is a row of
// docs/differences.md, and each test that the rows name exists.
func TestDifferencesAreListed(t *testing.T) {
	raw, err := os.ReadFile("../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for name := range differences {
		if !strings.Contains(doc, "/"+strings.ReplaceAll(name, " ", "_")) && !strings.Contains(doc, "/"+beginning(name)+"…") {
			t.Errorf("no row names the test of %q", name)
		}
	}
	tests := testsOfTree(t)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(doc, -1) {
		if !tests[name] {
			t.Errorf("a row names %s, which does not exist", name)
		}
	}
}

// beginning is the part of a name before the first comma: rows may stand for
// several tests.
func beginning(name string) string {
	first, _, _ := strings.Cut(name, ",")
	return strings.ReplaceAll(first, " ", "_")
}

// testsOfTree returns the names of all tests of the repository.
func testsOfTree(t *testing.T) map[string]bool {
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(source, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
