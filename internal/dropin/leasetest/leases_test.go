package leasetest

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// TestThousandLeases: nothing is left of informers that were acquired and released a
// thousand times each.
func TestThousandLeases(t *testing.T) {
	s, err := apisim.Start(apisim.Options{TLS: true})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Load(func(yield func(runtime.Object) bool) {
		for pod := range objects.Pods(1, 30) {
			if !yield(pod) {
				return
			}
		}
	}))
	Run(t, s.Config(), 30, 1000)
}
