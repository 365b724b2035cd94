//go:build clientgo036

package surface

// buildTags is what the packages under comparison are built with: the same as
// this package itself.
const buildTags = "clientgo036"
