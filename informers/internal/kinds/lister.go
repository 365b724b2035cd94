package kinds

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/cache"
)

// Lister lists the objects of an indexer, or of one namespace in it.
type Lister[T runtime.Object] struct {
	indexer   cache.Indexer
	namespace string
}

// ListerOf lists the objects of an indexer.
func ListerOf[T runtime.Object](x cache.Indexer) Lister[T] { return Lister[T]{indexer: x} }

// In returns the lister of a namespace; the empty one is all of them.
func (l Lister[T]) In(namespace string) Lister[T] { return Lister[T]{l.indexer, namespace} }

// List returns what has matching labels. What has not is not decoded.
func (l Lister[T]) List(selector labels.Selector) (found []T, err error) {
	err = cache.ListAllByNamespace(l.indexer, l.namespace, selector, func(obj any) { found = append(found, obj.(T)) })
	return found, err
}
