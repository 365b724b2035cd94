package metadatainformer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	clientgo "k8s.io/client-go/metadata/metadatainformer"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
)

// What factories of this package are and take.
type (
	// SharedInformerFactory gives shared informers, one for each resource, and
	// starts and stops them together.
	SharedInformerFactory = clientgo.SharedInformerFactory
	// TweakListOptionsFunc changes the options of each list and watch.
	TweakListOptionsFunc = clientgo.TweakListOptionsFunc
	// SharedInformerOption is an option of [NewSharedInformerFactoryWithOptions].
	SharedInformerOption func(*metadataSharedInformerFactory) *metadataSharedInformerFactory
)

type metadataSharedInformerFactory struct {
	client        metadata.Interface
	defaultResync time.Duration
	namespace     string
	tweak         TweakListOptionsFunc
	transform     cache.TransformFunc
	snapshot      kinform.SnapshotOptions
	group         *dropin.Group[schema.GroupVersionResource]
	lease         *dropin.Lease[schema.GroupVersionResource] // nil: whoever asks is no lease
}

// WithTransform has every object go through a function before anybody sees it.
func WithTransform(transform cache.TransformFunc) SharedInformerOption {
	return func(f *metadataSharedInformerFactory) *metadataSharedInformerFactory {
		f.transform = transform
		return f
	}
}

// WithSnapshot has the factory's informers start from disk, and keep there what they read;
// see [cache.SetSnapshot]. Client-go has no such option. Informers that get objects, as
// those of fake clients do, and Secrets without a key, do without. Default: each start lists.
func WithSnapshot(o kinform.SnapshotOptions) SharedInformerOption {
	return func(f *metadataSharedInformerFactory) *metadataSharedInformerFactory {
		f.snapshot = o
		return f
	}
}

// NewSharedInformerFactory returns a factory for all namespaces. Handlers are
// reminded of every object each defaultResync; 0 is never.
func NewSharedInformerFactory(client metadata.Interface, defaultResync time.Duration) SharedInformerFactory {
	return NewFilteredSharedInformerFactory(client, defaultResync, "", nil)
}

// NewFilteredSharedInformerFactory returns a factory for one namespace, or all if
// it is "", whose lists and watches are tweaked.
func NewFilteredSharedInformerFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions TweakListOptionsFunc) SharedInformerFactory {
	return &metadataSharedInformerFactory{client: client, defaultResync: defaultResync, namespace: namespace, tweak: tweakListOptions, group: new(dropin.Group[schema.GroupVersionResource])}
}

// NewSharedInformerFactoryWithOptions returns a factory for all namespaces with
// options.
func NewSharedInformerFactoryWithOptions(client metadata.Interface, defaultResync time.Duration, options ...SharedInformerOption) SharedInformerFactory {
	f := &metadataSharedInformerFactory{client: client, defaultResync: defaultResync, group: new(dropin.Group[schema.GroupVersionResource])}
	for _, o := range options {
		f = o(f)
	}
	return f
}

// ForResource returns the shared informer of a resource.
func (f *metadataSharedInformerFactory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	return &metadataInformer{gvr, dropin.Ask(f.group, f.lease, gvr, func() cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		informer := newInformer(f.client, gvr, f.namespace, f.defaultResync, indexers, f.tweak)
		if f.transform != nil {
			_ = informer.SetTransform(f.transform) // it fails for started ones, and this one is new
		}
		if f.snapshot.Dir != "" {
			dropin.NotKept(gvr, cache.SetSnapshot(informer, f.snapshot))
		}
		return informer
	})}
}

// Start runs, until stopCh is closed, every informer that was asked for and not
// started yet. It does not wait. After Shutdown it does nothing.
func (f *metadataSharedInformerFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext is Start with a context. Client-go's factory has it, too, but
// not its interface.
func (f *metadataSharedInformerFactory) StartWithContext(ctx context.Context) { f.group.Start(ctx) }

// WaitForCacheSync waits until every started informer has had its first list, or
// stopCh is closed, and returns which have.
func (f *metadataSharedInformerFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return f.group.WaitSynced(wait.ContextForChannel(stopCh))
}

// Shutdown sees to it that no informer is started any more, and waits until those
// that were have ended, which the stop channels of Start have to bring about.
func (f *metadataSharedInformerFactory) Shutdown() { f.group.Shutdown() }
