//go:build clientgo036

package surface

import (
	"path/filepath"
	"strings"
)

// buildFlags are what the packages under comparison are built with: the same as
// this package itself, client-go's minor before.
func buildFlags() ([]string, error) {
	module, err := run("env", "GOMOD")
	if err != nil {
		return nil, err
	}
	older := filepath.Join(filepath.Dir(strings.TrimSpace(module)), "go036.mod")
	return []string{"-tags", "clientgo036", "-modfile", older}, nil
}
