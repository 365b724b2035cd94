package apiserver

import (
	"testing"

	"github.com/kinform/kinform/internal/dropin/leasetest"
)

// TestThousandLeases: nothing is left of informers that were acquired and released a
// thousand times each.
func TestThousandLeases(t *testing.T) { leasetest.Run(t, start(t, Options{}).Config(), 1000) }
