package code

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/cli"
)

// commands knows which commands documents may show.
type commands struct {
	t       *testing.T
	targets []string // of make
}

// others are programs of which documents show commands that are not checked.
var others = []string{"cd", "git", "kubectl", "mkdir", "export", "helm", "curl", "promtool", "source", "sudo", "kill", "benchstat", "cat", "cp"}

func newCommands(t *testing.T) commands {
	c := commands{t: t}
	target := regexp.MustCompile(`(?m)^([a-z-]+):`)
	for _, m := range target.FindAllStringSubmatch(read(t, root+"/Makefile"), -1) {
		c.targets = append(c.targets, m[1])
	}
	return c
}

// check returns what is wrong with a line of a shell, "" if nothing is.
func (c commands) check(line string) string {
	line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(strings.TrimSuffix(line, " &"))
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:] // variables
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "#") || slices.Contains(others, words[0]) {
		return ""
	}
	switch rest := words[1:]; words[0] {
	case "make":
		return c.make(rest)
	case "kinform":
		return c.kinform(rest)
	case "go":
		return c.goTool(rest)
	}
	return "nothing checks this program"
}

func (c commands) make(words []string) string {
	for _, w := range words {
		if !strings.Contains(w, "=") && !slices.Contains(c.targets, w) {
			return "the Makefile has no target " + w
		}
	}
	return ""
}

// kinform parses the command line, as with --help nothing else happens.
func (c commands) kinform(words []string) string {
	for i, w := range words {
		words[i] = strings.Trim(w, `'"`)
	}
	_, all := c.help(nil)
	code, text := c.help(words)
	switch {
	case code != 0:
		return fmt.Sprintf("exit code %d: %s", code, text)
	case text == all && len(words) > 0 && !strings.HasPrefix(words[0], "-"):
		return "there is no such command"
	}
	return ""
}

// help is what --help prints for a command line.
func (c commands) help(words []string) (code int, text string) {
	var out strings.Builder
	code = cli.Main(c.t.Context(), append(slices.Clone(words), "--help"), &out, &out)
	return code, out.String()
}

// goTool checks the folders, and the names of tests.
func (c commands) goTool(words []string) string {
	dir := root
	if len(words) > 1 && words[0] == "-C" {
		dir, words = filepath.Join(root, words[1]), words[2:]
	}
	if len(words) == 0 {
		return "go what?"
	}
	if words[0] == "run" && len(words) > 1 && words[1] == "./cmd/kinform" {
		return c.kinform(words[2:])
	}
	for _, w := range words[1:] {
		if folder, all := strings.CutSuffix(w, "..."); strings.HasPrefix(w, "./") && (all || filepath.Ext(w) == "") {
			if _, err := os.Stat(filepath.Join(dir, folder)); err != nil {
				return "there is no " + w
			}
		}
	}
	return c.tests(dir, words)
}

// tests checks that a test is where it is run.
func (c commands) tests(dir string, words []string) string {
	at := slices.Index(words, "-run")
	if words[0] != "test" || at < 0 || at+1 >= len(words) {
		return ""
	}
	name := regexp.MustCompile(`\w+`).FindString(words[at+1])
	if name == "" {
		return "" // '^$': none
	}
	for _, w := range words[1:] {
		if w != "." && !strings.HasPrefix(w, "./") {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(dir, w, "*_test.go"))
		for _, f := range files {
			if strings.Contains(read(c.t, f), "func "+name) {
				return ""
			}
		}
	}
	return "there is no test " + name
}

// TestCommandsAreFound: commands that do not exist are noticed.
func TestCommandsAreFound(t *testing.T) {
	c := newCommands(t)
	for line, good := range map[string]bool{
		"make test": true, "make nothing": false,
		"go run ./cmd/kinform watch pods -n x": true, "kinform watch --nothing": false, "kinform nothing": false,
		"go test ./internal/engine -run TestRandomHistories": true, "go test ./internal/engine -run TestNoSuchThing": false,
		"go test ./nothing": false, "nothing": false, "# a comment": true, "A=b make test # as it is": true,
	} {
		if err := c.check(line); (err == "") != good {
			t.Errorf("%q: %q", line, err)
		}
	}
}
