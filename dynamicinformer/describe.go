package dynamicinformer

import (
	"fmt"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/inside"
)

// Describe describes every informer of a factory of this package, in the order in
// which they were asked for: configuration and state, as [cache.Describe] does.
func Describe(f DynamicSharedInformerFactory) ([]cache.Description, error) {
	own, ok := f.(*factory)
	if !ok {
		return nil, fmt.Errorf("cannot describe the informers of a %T: it does not say which it has; make the factory with kinform's NewDynamicSharedInformerFactory", f)
	}
	return cache.DescribeAll(own.group.Informers()), nil
}

// Measure describes the informers that run for package metrics, and has them measure their
// handlers and reads from the first call on.
func (f *factory) Measure() []cache.Description { return cache.MeasureAll(f.group.Informers()) }

// Inside lets package debug show the informers of the factory.
func (f *factory) Inside() []inside.Informer { return inside.Of(f.group.Informers()) }
