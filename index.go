package kinform

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// Index finds objects by values that a function took from them.
type Index[T any] struct {
	inf  *Informer[T]
	name string
}

// AddIndex adds an index to an informer, whether it runs or not. The function is
// called once for each state of each object. It must not call the informer. An
// object for which it panics is rejected: counted in Status, its last good state
// kept.
//
// Possible errors: ErrIndexExists, and that there is no function.
func (inf *Informer[T]) AddIndex(name string, values func(T) []string) (Index[T], error) {
	if values == nil { // or every object would be rejected
		return Index[T]{}, fmt.Errorf("kinform: %s: index %q has no function", inf.core.current(), name)
	}
	return inf.addIndex(name, func(r *engine.Record) ([]string, error) {
		obj, err := inf.decode(r, engine.Pass)
		if err != nil {
			return nil, err
		}
		return values(obj), nil
	})
}

// AddFieldIndex adds an index over a field that is named by its path, as kubectl's
// JSONPath writes it: "spec.nodeName", "metadata.ownerReferences.uid",
// "metadata.labels['app.kubernetes.io/name']". An object is found under each text,
// number or boolean that it has there. Unlike the functions of AddIndex, a path
// needs no decoded objects: the values are read from the bytes.
//
// Possible errors: ErrIndexExists, and an error that says what is wrong with the
// path. It is checked as that of Informer.Field.
func (inf *Informer[T]) AddFieldIndex(name, path string) (Index[T], error) {
	t, err := inf.pathType()
	if err != nil {
		return Index[T]{}, err
	}
	p, err := wire.ParsePath(path, t)
	if err != nil {
		return Index[T]{}, fmt.Errorf("kinform: %s: index %q: %w", inf.core.current(), name, err)
	}
	if strings.TrimPrefix(path, ".") == "metadata.namespace" {
		return inf.addIndex(name, namespaceOf())
	}
	var raw []byte // index functions are called one at a time
	return inf.addIndex(name, func(r *engine.Record) ([]string, error) {
		raw = r.AppendBytes(raw[:0])
		return p.Values(nil, r.Format(), raw)
	})
}

// pathType returns the type that paths are checked with: one that has every field of what
// is stored; nil if there is none, where the bytes are self-describing.
func (inf *Informer[T]) pathType() (reflect.Type, error) {
	t, err := structOf[T]()
	if err != nil || t == metadataType {
		return t, err
	}
	if native := inf.core.views.nativeType(); native != nil {
		return native, nil
	}
	return inf.core.views.wholeType(), nil
}

func (inf *Informer[T]) addIndex(name string, values func(*engine.Record) ([]string, error)) (Index[T], error) {
	if err := inf.core.AddIndex(engine.Indexer{Name: name, Values: inf.core.views.secret.Values(values)}); err != nil {
		return Index[T]{}, fmt.Errorf("kinform: %s: %w", inf.core.current(), err)
	}
	return Index[T]{inf: inf, name: name}, nil
}

// Remove removes the index from the informer: its function is no longer called, and
// nothing is found in it. Its name can be used again.
func (ix Index[T]) Remove() {
	_ = ix.inf.core.RemoveIndex(ix.name) // it may be removed already
}

// namespaceOf returns an index function that needs no bytes: records know their
// namespace.
func namespaceOf() func(r *engine.Record) ([]string, error) {
	last := []string{""}
	return func(r *engine.Record) ([]string, error) {
		ns := r.Namespace()
		if ns == "" {
			return nil, nil
		}
		if ns != last[0] {
			last = []string{ns}
		}
		return last, nil
	}
}

// Get yields the objects that have a value, as of when the iteration begins.
func (ix Index[T]) Get(value string) iter.Seq[T] {
	return func(yield func(T) bool) {
		if ix.inf.core.mutations != nil {
			ix.watched(value, yield)
			return
		}
		for _, obj := range ix.inf.core.ObjectsBy(ix.name, value, ix.inf.view) {
			if !yield(obj.(T)) {
				return
			}
		}
	}
}

// watched is Get with the detector, which needs the records.
func (ix Index[T]) watched(value string, yield func(T) bool) {
	for r := range ix.inf.core.ByIndex(ix.name, value) {
		if obj, err := ix.inf.decode(r, engine.Read); err == nil && !yield(obj) {
			return
		}
	}
}

// Keys yields the keys of the objects that have a value. Nothing is decoded.
func (ix Index[T]) Keys(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r := range ix.inf.core.ByIndex(ix.name, value) {
			if !yield(r.Key()) {
				return
			}
		}
	}
}

// Values returns every value that some object has, in no order.
func (ix Index[T]) Values() []string { return ix.inf.core.IndexValues(ix.name) }
