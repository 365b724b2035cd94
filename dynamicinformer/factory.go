package dynamicinformer

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	clientgo "k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
)

// What factories of this package are and take.
type (
	// DynamicSharedInformerFactory gives shared informers, one for each resource,
	// and starts and stops them together.
	DynamicSharedInformerFactory = clientgo.DynamicSharedInformerFactory
	// TweakListOptionsFunc changes the options of each list and watch.
	TweakListOptionsFunc = clientgo.TweakListOptionsFunc
)

type factory struct {
	client        dynamic.Interface
	defaultResync time.Duration
	namespace     string
	tweak         TweakListOptionsFunc
	snapshot      kinform.SnapshotOptions
	group         *dropin.Group[schema.GroupVersionResource]
	lease         *dropin.Lease[schema.GroupVersionResource] // nil: whoever asks is no lease
}

// NewDynamicSharedInformerFactory returns a factory for all namespaces. Handlers
// are reminded of every object each defaultResync; 0 is never.
func NewDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration) DynamicSharedInformerFactory {
	return NewFilteredDynamicSharedInformerFactory(client, defaultResync, "", nil)
}

// NewFilteredDynamicSharedInformerFactory returns a factory for one namespace, or
// all if it is "", whose lists and watches are tweaked.
func NewFilteredDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration, namespace string, tweakListOptions TweakListOptionsFunc) DynamicSharedInformerFactory {
	return &factory{client: client, defaultResync: defaultResync, namespace: namespace, tweak: tweakListOptions, group: new(dropin.Group[schema.GroupVersionResource])}
}

// ForResource returns the shared informer of a resource.
func (f *factory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	return &dynamicInformer{gvr, dropin.Ask(f.group, f.lease, gvr, func() cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		informer := newInformer(f.client, gvr, f.namespace, f.defaultResync, indexers, f.tweak)
		if f.snapshot.Dir != "" {
			dropin.NotKept(gvr, cache.SetSnapshot(informer, f.snapshot))
		}
		return informer
	})}
}

// SetSnapshot has the informers of a factory start from disk, and keep there what they
// read; see [cache.SetSnapshot]. It is to be called before any informer is asked for.
// Informers that get objects, as those of fake clients do, and Secrets without a key, do
// without. Default: each start lists. It returns an error if the factory is not one of this
// package.
func SetSnapshot(f DynamicSharedInformerFactory, o kinform.SnapshotOptions) error {
	own, ok := f.(*factory)
	if !ok {
		return fmt.Errorf("%T is not a factory of this package", f)
	}
	own.snapshot = o
	return nil
}

// Start runs, until stopCh is closed, every informer that was asked for and not
// started yet. It does not wait. After Shutdown it does nothing.
func (f *factory) Start(stopCh <-chan struct{}) {
	f.group.Start(wait.ContextForChannel(stopCh))
}

// WaitForCacheSync waits until every started informer has had its first list, or
// stopCh is closed, and returns which have.
func (f *factory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return f.group.WaitSynced(wait.ContextForChannel(stopCh))
}

// Shutdown sees to it that no informer is started any more, and waits until those
// that were have ended, which the stop channels of Start have to bring about.
func (f *factory) Shutdown() { f.group.Shutdown() }
