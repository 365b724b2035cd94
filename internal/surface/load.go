package surface

import (
	"bytes"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Load type-checks packages by import path, from the export data that the go
// command has or makes for them. All are loaded into one universe, so that types
// of one can be compared with types of another by identity.
func Load(paths ...string) ([]*types.Package, error) {
	files, err := exportFiles(paths)
	if err != nil {
		return nil, err
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		name, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("the go command listed no export data for %s", path)
		}
		return os.Open(name)
	})
	loaded := make([]*types.Package, 0, len(paths))
	for _, path := range paths {
		pkg, err := imports.Import(path)
		if err != nil {
			return nil, fmt.Errorf("importing %s: %w", path, err)
		}
		loaded = append(loaded, pkg)
	}
	return loaded, nil
}

// exportFiles maps each package and what it depends on to its export data.
func exportFiles(paths []string) (map[string]string, error) {
	lines, err := goList(append([]string{"-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, line := range lines {
		if path, file, _ := strings.Cut(line, "\t"); file != "" {
			files[path] = file
		}
	}
	return files, nil
}

// Packages returns the import paths of the packages that match a pattern.
func Packages(pattern string) ([]string, error) { return goList("--", pattern) }

// goList runs go list as the go command runs this test: with the same tags and the
// same requirements. It returns the lines.
func goList(args ...string) ([]string, error) {
	flags, err := buildFlags()
	if err != nil {
		return nil, err
	}
	out, err := run(append(append([]string{"list"}, flags...), args...)...)
	return strings.Split(strings.TrimSpace(out), "\n"), err
}

// run runs the go command.
func run(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
		}
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
