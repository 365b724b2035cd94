package apiserver

import (
	"testing"

	"github.com/kinform/kinform/internal/contract"
)

// TestTenThousandWrites: none is read back older than it was written.
func TestTenThousandWrites(t *testing.T) {
	contract.ReadYourWrites(t, start(t, Options{}).Config(), 10_000)
}
