package code

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is that of the repository, as seen from here.
const root = "../.."

// block is a part of a document that is code.
type block struct {
	file     string
	language string
	lines    []string
}

// TestBlocks: each block of Go in the documents is part of a file that is compiled, and
// each command exists.
func TestBlocks(t *testing.T) {
	files, commands := sources(t), newCommands(t)
	counted := map[string]int{}
	for _, b := range blocks(t) {
		counted[b.language]++
		switch b.language {
		case "go":
			if !isPart(b.lines, files) {
				t.Errorf("%s: this block is part of no file in docs/code, examples, or the packages that documents are about:\n%s", b.file, strings.Join(b.lines, "\n"))
			}
		case "sh":
			for _, line := range b.lines {
				if err := commands.check(line); err != "" {
					t.Errorf("%s: %q: %s", b.file, line, err)
				}
			}
		case "", "text", "yaml", "json", "diff", "promql":
		default:
			t.Errorf("%s: nothing checks blocks of %q", b.file, b.language)
		}
	}
	if counted["go"] < 10 || counted["sh"] < 5 {
		t.Errorf("found only %v", counted)
	}
}

// TestPartsAreFound: what is no part of a file is noticed.
func TestPartsAreFound(t *testing.T) {
	file := plain("a := 1\n\n\tb := 2\n")
	for text, part := range map[string]bool{
		"a := 1\nb := 2": true, "b := 2": true, "a := 1": true,
		"b := 2\na := 1": false, "a := 12": false, ":= 1": false, "": false,
	} {
		if got := isPart(strings.Split(text, "\n"), []string{file}); got != part {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestLinks: what documents of this repository link to exists.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, file), ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
}

// documents are the paths of all that people read.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, folder := range []string{".", "docs", "docs/evidence"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Fatalf("no documents in %s", folder)
		}
		all = append(all, files...)
	}
	return all
}

// blocks are those of all documents.
func blocks(t *testing.T) []block {
	var all []block
	for _, file := range documents(t) {
		var b *block
		for line := range strings.Lines(read(t, file)) {
			line = strings.TrimRight(line, "\n")
			mark, isMark := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case isMark && b == nil:
				b = &block{file: strings.TrimPrefix(file, root+"/"), language: mark}
			case isMark:
				all = append(all, *b)
				b = nil
			case b != nil:
				b.lines = append(b.lines, line)
			}
		}
		if b != nil {
			t.Errorf("%s: a block does not end", file)
		}
	}
	return all
}

// sources are the files that are compiled, as plain text.
func sources(t *testing.T) []string {
	var all []string
	for _, dir := range []string{"docs/code", "examples", "debug", "metrics", "tracing"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				all = append(all, plain(read(t, path)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// isPart reports whether lines follow each other in one of some plain texts.
func isPart(lines, texts []string) bool {
	part := plain(strings.Join(lines, "\n"))
	if strings.TrimSpace(part) == "" {
		return false
	}
	for _, text := range texts {
		if strings.Contains("\n"+text, "\n"+part) {
			return true
		}
	}
	return false
}

// plain is a text without indentation and empty lines.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
