// Package kinds knows every kind of object that the drop-in for client-go's
// informers has informers for: its Go type, its resource, and how to reach it
// through a clientset. The tables are generated from client-go's own informers.
//
// Making an informer of a kind lives here; factories and accessors, which have
// classic names, live in the packages above.
package kinds

import (
	"reflect"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// Kind is one kind of object.
type Kind struct {
	Resource schema.GroupVersionResource
	// Example is an empty object.
	Example runtime.Object
	// Namespaced: its objects live in namespaces.
	Namespaced bool
	// objects reaches the kind's objects through a clientset.
	objects func(kubernetes.Interface, string, internalinterfaces.TweakListOptionsFunc) *clientgo.ListWatch
	// restClient gives the REST client of the kind's group and version if the
	// clientset's client for it is client-go's own, else nil.
	restClient func(kubernetes.Interface) rest.Interface
}

// All returns every kind.
func All() []Kind { return slices.Concat(inBothMinors(), inThisMinor()) }

var byType = sync.OnceValue(func() map[reflect.Type]Kind {
	m := map[reflect.Type]Kind{}
	for _, k := range All() {
		m[reflect.TypeOf(k.Example)] = k
	}
	return m
})

var byResource = sync.OnceValue(func() map[schema.GroupVersionResource]Kind {
	m := map[schema.GroupVersionResource]Kind{}
	for _, k := range All() {
		m[k.Resource] = k
	}
	return m
})

// Of returns the kind of an object.
func Of(obj runtime.Object) (Kind, bool) {
	k, ok := byType()[reflect.TypeOf(obj)]
	return k, ok
}

// For returns the kind of a resource.
func For(resource schema.GroupVersionResource) (Kind, bool) {
	k, ok := byResource()[resource]
	return k, ok
}

// New returns kinform's informer of a kind. Kinds that do not live in namespaces
// do not mind the namespace.
func (k Kind) New(client kubernetes.Interface, namespace string, o internalinterfaces.InformerOptions) cache.SharedIndexInformer {
	if !k.Namespaced {
		namespace = ""
	}
	lw := dropin.WithScopes(k.listWatch(client, namespace, o.TweakListOptions), dropin.Scopes{
		Namespace: namespace, Everywhere: !k.Namespaced, Tweak: o.TweakListOptions,
		Open: func(namespace string, tweak func(*metav1.ListOptions)) clientgo.ListerWatcher {
			return k.listWatch(client, namespace, tweak)
		},
	})
	return cache.NewSharedIndexInformerWithOptions(lw, k.Example,
		cache.SharedIndexInformerOptions{
			ResyncPeriod: o.ResyncPeriod,
			Indexers:     o.Indexers,
			Identifier:   o.InformerName.WithResource(k.Resource),
		})
}

// listWatch is for bytes where the clientset can be asked for them, else for
// objects: a client that is not client-go's own may give other objects than the
// server does, as fakes do.
func (k Kind) listWatch(client kubernetes.Interface, namespace string, tweak internalinterfaces.TweakListOptionsFunc) cache.ListerWatcher {
	objects := k.objects(client, namespace, tweak)
	if dropin.IsNil(client) {
		return objects
	}
	restClient := dropin.Usable(k.restClient(client))
	if restClient == nil {
		return objects
	}
	needs := dropin.Anything
	if !dropin.SpeaksProtobuf(k.Example) {
		needs = dropin.JSON
	}
	query := kube.Query{Resource: k.Resource, Namespace: namespace, Tweak: tweak}
	return dropin.Bytes(objects, restClient, query, needs, k.decode())
}

// decode makes objects that do not depend on how they came: kinds of objects
// inside objects, which only JSON has, are left out.
func (k Kind) decode() dropin.Decoder {
	decode := dropin.DecodeTyped(k.Example)
	return func(r *engine.Record, near engine.Neighbour, kinds engine.Kinds) (any, error) {
		obj, err := decode(r, near, kinds)
		if err != nil {
			return nil, err
		}
		var claims []corev1.PersistentVolumeClaim
		switch set := obj.(type) {
		case *appsv1.StatefulSet:
			claims = set.Spec.VolumeClaimTemplates
		case *appsv1beta2.StatefulSet:
			claims = set.Spec.VolumeClaimTemplates
		case *appsv1beta1.StatefulSet:
			claims = set.Spec.VolumeClaimTemplates
		}
		for i := range claims {
			if claims[i].TypeMeta != (metav1.TypeMeta{}) { // else it may be another state's, too
				claims[i].TypeMeta = metav1.TypeMeta{}
			}
		}
		return obj, nil
	}
}

// New returns kinform's informer of objects of type T, which must be one of the
// kinds.
func New[T any](client kubernetes.Interface, namespace string, o internalinterfaces.InformerOptions) cache.SharedIndexInformer {
	return byType()[reflect.TypeFor[*T]()].New(client, namespace, o)
}
