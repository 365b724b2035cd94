package kinform_test

import (
	"testing"

	"github.com/kinform/kinform/internal/contract"
)

// TestScopeChanges: no event comes twice and none is missed, whatever the scope was and
// becomes.
func TestScopeChanges(t *testing.T) {
	contract.ScopeChanges(t, embedded(t).Config, 200)
}
