package dynamicinformer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/kube"
)

// NewFilteredDynamicInformer returns an informer that is shared with nobody.
func NewFilteredDynamicInformer(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers cache.Indexers, tweakListOptions TweakListOptionsFunc) informers.GenericInformer {
	return &dynamicInformer{gvr, newInformer(client, gvr, namespace, resyncPeriod, indexers, tweakListOptions)}
}

func newInformer(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, resync time.Duration, indexers cache.Indexers, tweak TweakListOptionsFunc) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(scopedListWatch(client, gvr, namespace, tweak), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{
			ResyncPeriod:      resync,
			Indexers:          indexers,
			ObjectDescription: gvr.String(),
		})
}

// scopedListWatch is listWatch for informers whose scope can be changed.
func scopedListWatch(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, tweak TweakListOptionsFunc) cache.ListerWatcher {
	return dropin.WithScopes(listWatch(client, gvr, namespace, tweak), dropin.Scopes{
		Namespace: namespace, Tweak: tweak,
		Open: func(namespace string, tweak func(*metav1.ListOptions)) cache.ListerWatcher {
			return listWatch(client, gvr, namespace, tweak)
		},
	})
}

func listWatch(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, tweak TweakListOptionsFunc) cache.ListerWatcher {
	objects := dropin.Objects(func() dropin.Client[*unstructured.UnstructuredList] {
		return client.Resource(gvr).Namespace(namespace)
	}, tweak)
	restClient := dropin.RESTClientOfDynamic(client)
	if restClient == nil {
		return objects
	}
	// JSON, as only that says all that the server has, in fields that this program
	// knows nothing of, too.
	query := kube.Query{Resource: gvr, Namespace: namespace, Tweak: tweak}
	return dropin.Bytes(objects, restClient, query, dropin.JSON, dropin.DecodeUnstructured)
}

type dynamicInformer struct {
	gvr      schema.GroupVersionResource
	informer cache.SharedIndexInformer
}

// Informer returns the informer.
func (d *dynamicInformer) Informer() cache.SharedIndexInformer { return d.informer }

// Lister returns a lister of what the informer has.
func (d *dynamicInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(d.informer.GetIndexer(), d.gvr.GroupResource())
}
