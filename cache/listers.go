package cache

import (
	"iter"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/internal/engine"
)

// ListAll calls appendFn for each object of a store that has matching labels. Of the
// store of one of this package's shared informers, no other object is decoded.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	if labels.MatchesNothing(selector) {
		return nil
	}
	if x := selective(store, selector); x != nil {
		x.choose(x.Records(), selector, appendFn)
		return nil
	}
	return selectFrom(store.List(), selector, appendFn)
}

// ListAllByNamespace calls appendFn for each object of a namespace that has
// matching labels, as ListAll does; the empty namespace is all of them. An indexer
// without [NamespaceIndex] is searched object by object.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	if labels.MatchesNothing(selector) {
		return nil
	}
	if namespace == metav1.NamespaceAll {
		return ListAll(indexer, selector, appendFn)
	}
	if x := selective(indexer, selector); x != nil && x.hasNamespaces() {
		x.choose(x.RecordsIn(namespace), selector, appendFn)
		return nil
	}
	objs, err := indexer.Index(NamespaceIndex, &metav1.ObjectMeta{Namespace: namespace})
	if err != nil {
		klog.TODO().Info("Warning: objects of a namespace are searched without an index", "namespace", namespace, "err", err)
		if objs, err = inNamespace(indexer.List(), namespace); err != nil {
			return err
		}
	}
	return selectFrom(objs, selector, appendFn)
}

// selective returns a store whose records tell what is selected, if a store is one and
// not everything is. A transform may have given the objects other labels.
func selective(store Store, selector labels.Selector) *sharedIndexer {
	x, ok := store.(*sharedIndexer)
	if !ok || selector.Empty() || x.Alters() {
		return nil
	}
	return x
}

// hasNamespaces reports whether the index of namespaces, if there is one, is the usual one.
func (x *sharedIndexer) hasNamespaces() bool {
	f, err := x.indexFunc(NamespaceIndex)
	return err != nil || reflect.ValueOf(f).Pointer() == namespaceIndex
}

// choose calls appendFn for the objects of the records that have matching labels, but
// for those that cannot be decoded.
func (x *sharedIndexer) choose(records iter.Seq[*engine.Record], selector labels.Selector, appendFn AppendFunc) {
	match := func(l engine.Labels) bool { return selector.Matches(l) }
	for r := range engine.Matching(records, match) {
		if obj, err := x.object(r, engine.Read); err == nil {
			appendFn(obj)
		}
	}
}

func inNamespace(objs []any, namespace string) ([]any, error) {
	var in []any
	for _, obj := range objs {
		object, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if object.GetNamespace() == namespace {
			in = append(in, obj)
		}
	}
	return in, nil
}

func selectFrom(objs []any, selector labels.Selector, appendFn AppendFunc) error {
	everything := selector.Empty()
	for _, obj := range objs {
		if !everything {
			object, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			if !selector.Matches(labels.Set(object.GetLabels())) {
				continue
			}
		}
		appendFn(obj)
	}
	return nil
}

// NewGenericLister reads an indexer as API objects; resource is named in the
// errors for what is not there.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return genericLister{indexer, resource}
}

type genericLister struct {
	indexer  Indexer
	resource schema.GroupResource
}

func (l genericLister) List(selector labels.Selector) (found []runtime.Object, err error) {
	err = ListAll(l.indexer, selector, func(obj any) { found = append(found, obj.(runtime.Object)) })
	return found, err
}

// Get reads the object of a key, which is its name if it has no namespace.
func (l genericLister) Get(name string) (runtime.Object, error) {
	return l.get(name, name)
}

func (l genericLister) get(key, name string) (runtime.Object, error) {
	obj, exists, err := l.indexer.GetByKey(key)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, apierrors.NewNotFound(l.resource, name)
	}
	return obj.(runtime.Object), nil
}

func (l genericLister) ByNamespace(namespace string) GenericNamespaceLister {
	return genericNamespaceLister{l, namespace}
}

type genericNamespaceLister struct {
	lister    genericLister
	namespace string
}

func (l genericNamespaceLister) List(selector labels.Selector) (found []runtime.Object, err error) {
	err = ListAllByNamespace(l.lister.indexer, l.namespace, selector, func(obj any) { found = append(found, obj.(runtime.Object)) })
	return found, err
}

func (l genericNamespaceLister) Get(name string) (runtime.Object, error) {
	return l.lister.get(l.namespace+"/"+name, name)
}
