//go:build !clientgo036

package surface

// buildFlags are what the packages under comparison are built with: the same as
// this package itself.
func buildFlags() ([]string, error) { return nil, nil }
