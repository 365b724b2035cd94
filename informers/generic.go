package informers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers/internal/kinds"
)

// GenericInformer gives the informer and the lister of a resource.
type GenericInformer = informers.GenericInformer

type genericInformer struct {
	informer cache.SharedIndexInformer
	resource schema.GroupResource
}

// ForResource returns the shared informer of a resource.
func (f *sharedInformerFactory) ForResource(resource schema.GroupVersionResource) (GenericInformer, error) {
	k, ok := kinds.For(resource)
	if !ok {
		return nil, fmt.Errorf("no informer found for %v", resource)
	}
	informer := f.InformerFor(k.Example, k.Shared(f, f.namespace, f.tweakListOptions))
	return &genericInformer{informer, resource.GroupResource()}, nil
}

// Informer returns the informer.
func (g *genericInformer) Informer() cache.SharedIndexInformer { return g.informer }

// Lister returns a lister of what the informer has.
func (g *genericInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(g.informer.GetIndexer(), g.resource)
}
