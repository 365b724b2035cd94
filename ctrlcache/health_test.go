package ctrlcache

import (
	"errors"
	"strings"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/internal/engine"
)

// ailing is an informer with a state of health, and nothing else.
type ailing struct {
	toolscache.SharedIndexInformer
	status engine.Status
}

func (a ailing) Health() []engine.Status { return []engine.Status{a.status} }

// TestFailuresAreCountedInWords: one attempt is not several.
func TestFailuresAreCountedInWords(t *testing.T) {
	for want, status := range map[string]engine.Status{
		"1 failed attempt (":  {Attempts: 1, Cause: errors.New("refused")},
		"2 failed attempts (": {Attempts: 2, Cause: errors.New("refused")},
		"1 object so far":     {Listed: 1},
	} {
		if got := (&member{informer: ailing{status: status}, ended: t.Context()}).whyNot().Error(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
