package ctrlcache_test

import (
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinform/kinform/ctrlcache"
)

// stripping is what an operator has in its options: the call may have been inlined
// wherever it stands.
var stripping = cache.TransformStripManagedFields()

// TestStrippingIsRecognized: TransformStripManagedFields is, from wherever it was called,
// and nothing else is taken for it.
func TestStrippingIsRecognized(t *testing.T) {
	make := cache.TransformStripManagedFields // which is not inlined
	for name, f := range map[string]toolscache.TransformFunc{
		"of a package": stripping, "of a function": cache.TransformStripManagedFields(), "called by its address": make(),
	} {
		if !ctrlcache.StripsManagedFields(f) {
			t.Errorf("%s: it is not recognized", name)
		}
	}
	more := func(obj any) (any, error) { return stripping(obj) }
	again := func(obj any) (any, error) { return cache.TransformStripManagedFields()(obj) }
	for name, f := range map[string]toolscache.TransformFunc{"nil": nil, "another": more, "around it": again} {
		if ctrlcache.StripsManagedFields(f) {
			t.Errorf("%s: it is taken for the one that strips", name)
		}
	}
}
