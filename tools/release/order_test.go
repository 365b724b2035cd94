package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFollows(t *testing.T) {
	const all = "v0.1.0 v0.1.1 v0.2.0 v0.3.0-rc.1 vague"
	for _, tt := range []struct{ version, contained, want string }{
		{"v0.3.0", all, ""},
		{"v0.4.0", all, ""},
		{"v0.1.2", "v0.1.0 v0.1.1", ""},
		{"v0.2.1", "v0.1.0 v0.2.0", ""},
		{"v0.1.1", "v0.1.0", "there is a tag v0.1.1 already"},
		{"v0.1.3", "v0.1.0 v0.1.1", "only the next patch can be released: it is v0.1.2"},
		{"v0.1.2", "v0.1.0 v0.2.0", "this commit contains v0.2.0, which is later than v0.1.2"},
		{"v0.0.1", "", "none of v0.0, of which v0.0.1 could be a patch"},
		{"v0.1.2-rc.1", "v0.1.1", "it is v0.1.2"},
	} {
		err := follows(tt.version, strings.Fields(all), strings.Fields(tt.contained))
		if got := message(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.version, got, tt.want)
		}
	}
	for version, want := range map[string]string{"v0.3.0": "main", "v0.1.2": "release-v0.1"} {
		if got := branch(version, strings.Fields(all)); got != want {
			t.Errorf("%s is pushed to %s, want %s", version, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestPatchOfAnOlderMinor: v0.1.1 is made after v0.2.0, on a branch from v0.1.0.
func TestPatchOfAnOlderMinor(t *testing.T) {
	top := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if _, err := output(t.Context(), top, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	changes := func(version string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(top, "CHANGELOG.md"), []byte("# Changes\n\n## "+version+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "--quiet", "-m", version)
	}
	git("init", "--quiet", "--initial-branch=main")
	for _, version := range []string{"v0.1.0", "v0.2.0"} {
		changes(version)
		git("tag", version)
	}
	changes("v0.1.1")
	if err := ready(t.Context(), top, "v0.1.1"); err == nil || !strings.Contains(err.Error(), "this commit contains v0.2.0") {
		t.Errorf("on main: got %v", err)
	}
	git("switch", "--quiet", "-c", "release-v0.1", "v0.1.0")
	changes("v0.1.1")
	if err := ready(t.Context(), top, "v0.1.1"); err != nil {
		t.Errorf("on its branch: %v", err)
	}
}
