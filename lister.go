package kinform

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/internal/engine"
)

// Lister reads an informer's objects. An iteration yields the state at the moment it
// begins; no change waits for it, however long it takes. Objects are shared and must
// not be changed. An object that does not fit T is left out, and counted in Status
// as rejected; Get returns its error.
type Lister[T any] struct {
	inf       *Informer[T]
	namespace string
}

// Lister returns a reader of all objects.
func (inf *Informer[T]) Lister() Lister[T] { return Lister[T]{inf: inf} }

// Namespace narrows to one namespace.
func (l Lister[T]) Namespace(name string) Lister[T] {
	l.namespace = name
	return l
}

// Get returns the object of a key: "namespace/name"; just the name after
// Namespace, or for objects that have none.
//
// Possible errors: ErrNotFound, *DecodeError.
func (l Lister[T]) Get(key string) (T, error) {
	if l.namespace != "" {
		key = l.namespace + "/" + key
	}
	obj, err := l.inf.core.Object(key, l.inf.view)
	switch {
	case err != nil:
		var none T
		return none, ownError(err)
	case obj == nil:
		var none T
		return none, fmt.Errorf("%s %q: %w", l.inf.core.query.Resource.Resource, key, ErrNotFound)
	}
	if l.inf.core.mutations != nil {
		l.inf.core.handedOutByKey(key, l.inf.view, obj)
	}
	return obj.(T), nil
}

// All yields every object with its key.
func (l Lister[T]) All() iter.Seq2[string, T] {
	if l.namespace != "" {
		return l.Select(nil)
	}
	return func(yield func(string, T) bool) {
		for r, obj := range l.inf.core.Each(l.inf.view) {
			if l.inf.core.mutations != nil {
				l.inf.core.handedOut(r, l.inf.view, obj)
			}
			if !yield(r.Key(), obj.(T)) {
				return
			}
		}
	}
}

// Select yields the objects whose labels match; a nil selector matches all. Only
// those that match are decoded.
func (l Lister[T]) Select(s labels.Selector) iter.Seq2[string, T] {
	if l.namespace == "" && (s == nil || s.Empty()) {
		return l.All()
	}
	return func(yield func(string, T) bool) {
		for r := range l.matching(s) {
			if obj, err := l.inf.decode(r, engine.Sweep); err == nil && !yield(r.Key(), obj) {
				return
			}
		}
	}
}

// Keys yields the keys of the objects whose labels match. Nothing is decoded.
func (l Lister[T]) Keys(s labels.Selector) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r := range l.matching(s) {
			if !yield(r.Key()) {
				return
			}
		}
	}
}

// Len is the number of objects.
func (l Lister[T]) Len() int {
	if l.namespace == "" {
		return l.inf.core.Len()
	}
	n := 0
	for range l.records() {
		n++
	}
	return n
}

func (l Lister[T]) records() iter.Seq[*engine.Record] {
	if l.namespace == "" {
		return l.inf.core.All()
	}
	return l.inf.core.Namespace(l.namespace)
}

func (l Lister[T]) matching(s labels.Selector) iter.Seq[*engine.Record] {
	if s == nil || s.Empty() {
		return l.records()
	}
	return engine.Matching(l.records(), func(all engine.Labels) bool { return s.Matches(all) })
}
