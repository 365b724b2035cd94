package kinform_test

import (
	"testing"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/contract"
)

// TestTenThousandWrites: none is read back older than it was written.
func TestTenThousandWrites(t *testing.T) {
	s := startSim(t, apisim.Options{TLS: true})
	contract.ReadYourWrites(t, s.Config(), 10_000)
}
