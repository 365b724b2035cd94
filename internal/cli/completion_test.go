package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/console"
)

// completed are the words that kinform offers for the end of a command line.
func completed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, _ := run(t, append([]string{"__complete"}, args...)...)
	if code != 0 {
		t.Errorf("%q: exit code %d", args, code)
	}
	var words []string
	for line := range strings.Lines(out) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && !strings.HasPrefix(word, ":") {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

func TestCompletion(t *testing.T) {
	s := newServer(t)
	for _, tt := range []struct{ args, want string }{
		{"watch --kubeconfig FILE statefuls", "statefulsets"},
		{"get --kubeconfig FILE pods,servicea", "pods,serviceaccounts"},
		{"top --kubeconfig FILE -n kube-s", "kube-system"},
		{"bench --kubeconfig FILE --context kin", "kinform-demo"},
		{"get pods -o ", "table json yaml name"},
		{"dump pods -o ", "text json"},
		{"demo --po", "--port"},
		{"serve --kubeconfig FILE statefuls", "statefulsets"},
		{"completion ", "bash zsh fish"},
		{"wat", "watch"},
	} {
		args := strings.Split(strings.ReplaceAll(tt.args, "FILE", s.kubeconfig), " ")
		if got := completed(t, args...); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.args, got, tt.want)
		}
	}
	for _, shell := range shells {
		code, out, notes := run(t, "completion", shell)
		if code != 0 || notes != "" || !strings.Contains(out, "kinform") || !strings.Contains(out, "__complete") {
			t.Errorf("%s: exit code %d, said %q, output\n%s", shell, code, notes, out)
		}
	}
}

// TestCompletionDoesNotHang: a server that never answers costs the completion what only
// the server knows.
func TestCompletionDoesNotHang(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, err := writeKubeconfig(path, "http://"+l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if got := completed(t, "watch", "--kubeconfig", path, "deploy"); got != "deployments" {
		t.Errorf("resources: got %q", got)
	}
	if got := completed(t, "watch", "--kubeconfig", path, "-n", ""); got != "" {
		t.Errorf("namespaces: got %q", got)
	}
	if got := completed(t, "watch", "--kubeconfig", filepath.Join(t.TempDir(), "none"), "po"); got != "pods" {
		t.Errorf("no cluster at all: got %q", got)
	}
}

// TestManPages: the pages of docs/man are those of the help texts; go generate writes
// them.
func TestManPages(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "man")
	pages := manPages(newRoot(newScreen(console.New(), console.New())))
	for name, page := range pages {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(have) != page {
			t.Errorf("%s is not up to date (%v): go generate ./internal/cli", name, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(pages) {
		t.Errorf("%d files, %v, want %d pages", len(files), err, len(pages))
	}
	into := filepath.Join(t.TempDir(), "man1")
	if code, out, notes := run(t, "man", into); code != 0 || out+notes != "" {
		t.Errorf("exit code %d, said %q", code, out+notes)
	}
	page, err := os.ReadFile(filepath.Join(into, "kinform-watch.1"))
	for _, want := range []string{".TH KINFORM\\-WATCH 1", ".SH NAME", ".SH OPTIONS", `\fB\-n, \-\-namespace\fR`, ".SH EXIT STATUS", "\n.B 130\n", ".BR kinform (1)"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("no %q (%v) in\n%s", want, err, page)
		}
	}
	if code, _, notes := run(t, "man", "/dev/null/x"); code != exitBad || !strings.Contains(notes, "cannot make the directory") {
		t.Errorf("exit code %d, said %q", code, notes)
	}
}
