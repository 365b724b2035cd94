package informers

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
)

// SharedInformerFactory gives shared informers, one for each Go type, and starts
// and stops them together.
type SharedInformerFactory = informers.SharedInformerFactory

type sharedInformerFactory struct {
	client           kubernetes.Interface
	namespace        string
	tweakListOptions internalinterfaces.TweakListOptionsFunc
	defaultResync    time.Duration
	customResync     map[reflect.Type]time.Duration
	transform        cache.TransformFunc
	informerName     *cache.InformerName
	snapshot         kinform.SnapshotOptions
	group            *dropin.Group[reflect.Type]
	lease            *dropin.Lease[reflect.Type] // nil: whoever asks is no lease
}

// NewSharedInformerFactory returns a factory for all namespaces. Handlers are
// reminded of every object each defaultResync; 0 is never.
func NewSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(client, defaultResync)
}

// NewFilteredSharedInformerFactory returns a factory for one namespace, or all if
// it is "", whose lists and watches are tweaked.
//
// Deprecated: NewSharedInformerFactoryWithOptions does this, too.
func NewFilteredSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration, namespace string, tweakListOptions internalinterfaces.TweakListOptionsFunc) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(client, defaultResync, WithNamespace(namespace), WithTweakListOptions(tweakListOptions))
}

// NewSharedInformerFactoryWithOptions returns a factory with options.
func NewSharedInformerFactoryWithOptions(client kubernetes.Interface, defaultResync time.Duration, options ...SharedInformerOption) SharedInformerFactory {
	f := &sharedInformerFactory{
		client:        client,
		defaultResync: defaultResync,
		customResync:  map[reflect.Type]time.Duration{},
		group:         new(dropin.Group[reflect.Type]),
	}
	for _, o := range options {
		f = o(f)
	}
	return f
}

// InformerFor returns the informer of obj's type; the first who asks has it made
// by newFunc, whoever's informer that makes.
func (f *sharedInformerFactory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	t := reflect.TypeOf(obj)
	return dropin.Ask(f.group, f.lease, t, func() cache.SharedIndexInformer {
		resync, ok := f.customResync[t]
		if !ok {
			resync = f.defaultResync
		}
		informer := newFunc(f.client, resync)
		if f.transform != nil {
			_ = informer.SetTransform(f.transform) // it fails for started ones, and this one is new
		}
		if f.snapshot.Dir != "" {
			dropin.NotKept(t, cache.SetSnapshot(informer, f.snapshot))
		}
		return informer
	})
}

// InformerName is what the factory's informers are called in metrics.
func (f *sharedInformerFactory) InformerName() *cache.InformerName { return f.informerName }

// Start runs, until stopCh is closed, every informer that was asked for and not
// started yet. It does not wait. After Shutdown it does nothing.
func (f *sharedInformerFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext is Start with a context.
func (f *sharedInformerFactory) StartWithContext(ctx context.Context) { f.group.Start(ctx) }

// WaitForCacheSync waits until every started informer has had its first list, or
// stopCh is closed, and returns which have.
func (f *sharedInformerFactory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.group.WaitSynced(wait.ContextForChannel(stopCh))
}

// WaitForCacheSyncWithContext is WaitForCacheSync with a context. If an informer
// has not synced, the result has the reason why the wait ended.
func (f *sharedInformerFactory) WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult {
	return syncResult(ctx, f.group.WaitSynced(ctx))
}

func syncResult(ctx context.Context, synced map[reflect.Type]bool) cache.SyncResult {
	result := cache.SyncResult{Synced: synced}
	for _, synced := range result.Synced {
		if !synced {
			result.Err = context.Cause(ctx)
		}
	}
	return result
}

// Shutdown sees to it that no informer is started any more, and waits until those
// that were have ended, which the stop channels of Start have to bring about.
func (f *sharedInformerFactory) Shutdown() {
	f.group.Shutdown()
	f.informerName.Release()
}
