package cache

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
)

// remains returns what can be said of an object that cannot be read: one of the
// informer's type that has its metadata and nothing else. Handlers of deletions mostly
// need no more, and few can do with less.
func (s *sharedIndexInformer) remains(r *engine.Record) any {
	m, err := decode.Metadata(r)
	if err != nil {
		return nil
	}
	obj, ok := reflect.New(reflect.TypeOf(s.objectType).Elem()).Interface().(runtime.Object)
	if !ok {
		return nil
	}
	to, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	obj.GetObjectKind().SetGroupVersionKind(s.objectType.GetObjectKind().GroupVersionKind())
	if a, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if own, ok := a.GetObjectMeta().(*metav1.ObjectMeta); ok {
			*own = m.ObjectMeta
			return obj
		}
	}
	to.SetNamespace(m.Namespace)
	to.SetName(m.Name)
	to.SetUID(m.UID)
	to.SetResourceVersion(m.ResourceVersion)
	to.SetLabels(m.Labels)
	to.SetAnnotations(m.Annotations)
	to.SetOwnerReferences(m.OwnerReferences)
	to.SetFinalizers(m.Finalizers)
	to.SetDeletionTimestamp(m.DeletionTimestamp)
	return obj
}
