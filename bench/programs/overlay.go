package programs

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
)

// overlay writes the changed files and the list of them that go build -overlay
// takes, and returns the path of that.
func (p Program) overlay(source, scratch string) (string, error) {
	replace := map[string]string{}
	for name, swaps := range p.Swaps {
		original := filepath.Join(source, filepath.FromSlash(name))
		text, err := os.ReadFile(original)
		if err != nil {
			return "", err
		}
		if text, err = swapImports(text, swaps); err != nil {
			return "", fmt.Errorf("%s of %s: %w", name, kubernetesModule, err)
		}
		changed := filepath.Join(scratch, "overlay-"+strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(changed, text, 0o644); err != nil {
			return "", err
		}
		replace[original] = changed
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(scratch, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}

// swapImports replaces import paths of a Go file, and nothing else. One that the file
// does not have is an error: the program would be built as it was.
func swapImports(text []byte, swaps []Swap) ([]byte, error) {
	for _, s := range swaps {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "", text, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		found := false
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || path != s.From {
				continue
			}
			begin, end := files.Position(spec.Path.Pos()).Offset, files.Position(spec.Path.End()).Offset
			text = append(append(append([]byte{}, text[:begin]...), strconv.Quote(s.To)...), text[end:]...)
			found = true
			break
		}
		if !found {
			return nil, fmt.Errorf("it does not import %q, which %q was to replace: look where this version makes its informers", s.From, s.To)
		}
	}
	return text, nil
}
