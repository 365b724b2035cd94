package leasetest

import (
	"testing"

	"github.com/kinform/kinform/apisim"
)

// TestThousandLeases: nothing is left of informers that were acquired and released a
// thousand times each.
func TestThousandLeases(t *testing.T) {
	s, err := apisim.Start(apisim.Options{TLS: true})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	Run(t, s.Config(), 1000)
}
