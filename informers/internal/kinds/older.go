//go:build clientgo036

package kinds

// inThisMinor is empty: what only this minor has is served through client-go's own
// informers.
func inThisMinor() []Kind { return nil }
