package metadatainformer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
)

// Lease is the use of informers of a factory, from Acquire to Release. It is a factory
// itself: what is asked for through it is leased.
type Lease struct {
	SharedInformerFactory
	lease *dropin.Lease[schema.GroupVersionResource]
}

// Acquire begins a lease of informers of a factory of this package, for those who will not
// need them for as long as the factory lives.
//
//	lease, err := metadatainformer.Acquire(factory, cache.LeaseOptions{})
//	if err != nil {
//		return err
//	}
//	defer lease.Release()
//	pods := lease.ForResource(gvr)
//	lease.Start(ctx.Done())
//	lease.WaitForCacheSync(ctx.Done())
//
// An informer that several leases have asked for is one. It runs from the first Start of a
// lease on, until the last Release, and LeaseOptions.Grace longer; then its watch ends, its
// store is empty, and its memory is given up. Who asks for it later gets a new one. What
// the factory itself was asked for as well runs until the factory's stop channel is closed.
//
// Possible errors: that the factory has been shut down, or is not one of this package.
func Acquire(factory SharedInformerFactory, o cache.LeaseOptions) (*Lease, error) {
	f, ok := factory.(*metadataSharedInformerFactory)
	if !ok {
		return nil, fmt.Errorf("informers of a %T cannot be leased: make the factory with kinform's", factory)
	}
	l, err := f.group.Acquire(o.Grace)
	if err != nil {
		return nil, err
	}
	view := *f
	view.lease = l
	return &Lease{SharedInformerFactory: &view, lease: l}, nil
}

// Start runs the informers that were asked for through the lease and do not run yet. The
// lease is released when stopCh is closed, at the latest.
func (l *Lease) Start(stopCh <-chan struct{}) { l.StartWithContext(wait.ContextForChannel(stopCh)) }

// StartWithContext is Start with a context.
func (l *Lease) StartWithContext(ctx context.Context) { l.lease.Start(ctx) }

// WaitForCacheSync waits until each informer of the lease that was started has had its
// first list, or stopCh is closed, and returns which have.
func (l *Lease) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return l.lease.WaitSynced(wait.ContextForChannel(stopCh))
}

// Release ends the lease: the handlers that were added through it, and the informers that
// nobody else has acquired. It does not wait; Done does. Releasing twice does nothing.
func (l *Lease) Release() { l.lease.Release() }

// Done is closed when the lease is released and the informers that it had have ended.
func (l *Lease) Done() <-chan struct{} { return l.lease.Done() }

// Shutdown releases the lease, and waits until the informers that it had have ended.
func (l *Lease) Shutdown() {
	l.Release()
	<-l.Done()
}
