package metadatainformer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/kube"
)

// NewFilteredMetadataInformer returns an informer that is shared with nobody.
func NewFilteredMetadataInformer(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers cache.Indexers, tweakListOptions TweakListOptionsFunc) informers.GenericInformer {
	return &metadataInformer{gvr, newInformer(client, gvr, namespace, resyncPeriod, indexers, tweakListOptions)}
}

func newInformer(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, resync time.Duration, indexers cache.Indexers, tweak TweakListOptionsFunc) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(scopedListWatch(client, gvr, namespace, tweak), &metav1.PartialObjectMetadata{}, resync, indexers)
}

// scopedListWatch is listWatch for informers whose scope can be changed.
func scopedListWatch(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, tweak TweakListOptionsFunc) cache.ListerWatcher {
	return dropin.WithScopes(listWatch(client, gvr, namespace, tweak), dropin.Scopes{
		Namespace: namespace, Tweak: tweak,
		Open: func(namespace string, tweak func(*metav1.ListOptions)) cache.ListerWatcher {
			return listWatch(client, gvr, namespace, tweak)
		},
	})
}

func listWatch(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, tweak TweakListOptionsFunc) cache.ListerWatcher {
	objects := dropin.Objects(func() dropin.Client[*metav1.PartialObjectMetadataList] {
		return client.Resource(gvr).Namespace(namespace)
	}, tweak)
	restClient := dropin.RESTClientOfMetadata(client)
	if restClient == nil {
		return objects
	}
	query := kube.Query{Resource: gvr, Namespace: namespace, Tweak: tweak}
	return dropin.Bytes(objects, restClient, query, dropin.Metadata, dropin.DecodeMetadata)
}

type metadataInformer struct {
	gvr      schema.GroupVersionResource
	informer cache.SharedIndexInformer
}

// Informer returns the informer.
func (m *metadataInformer) Informer() cache.SharedIndexInformer { return m.informer }

// Lister returns a lister of what the informer has.
func (m *metadataInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(m.informer.GetIndexer(), m.gvr.GroupResource())
}
