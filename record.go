package kinform

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
)

// Record is one state of one object, which is not decoded: what an event or a lister has
// before somebody asks for the object. Its methods cost little, but for Object. It never
// changes, and may be kept; what is kept holds on to the bytes of that state.
//
// The zero Record is none: the state before an object was added.
type Record[T any] struct {
	rec *engine.Record
	inf *Informer[T]
}

// IsZero reports whether it is none.
func (r Record[T]) IsZero() bool { return r.rec == nil }

// none has nothing.
var none engine.Record

func (r Record[T]) orNone() *engine.Record {
	if r.rec == nil {
		return &none
	}
	return r.rec
}

// Key is "namespace/name", or "name" for objects without a namespace.
func (r Record[T]) Key() string { return r.orNone().Key() }

// Namespace is that of the object, "" if it has none.
func (r Record[T]) Namespace() string { return r.orNone().Namespace() }

// Name is that of the object.
func (r Record[T]) Name() string { return r.orNone().Name() }

// UID is that of the object.
func (r Record[T]) UID() string { return r.orNone().UID() }

// Labels are those of the object.
func (r Record[T]) Labels() Labels { return Labels{r.orNone().Labels()} }

// ResourceVersion is that of the state.
func (r Record[T]) ResourceVersion() string { return r.orNone().Version().String() }

// Bytes is the state as the server sent it, in protobuf or JSON: a copy.
func (r Record[T]) Bytes() []byte { return r.orNone().AppendBytes(nil) }

// Has reports whether the object has something in a field. An empty list is nothing. Where
// a Go type is known, nor is an empty map, or zero if the field is a text, a number or a
// boolean and no pointer; where none is, {} may be a struct, and is something. Nothing is
// decoded.
func (r Record[T]) Has(f Field) (has bool) {
	if r.rec == nil {
		return false
	}
	format := r.rec.Format()
	_ = decode.With(r.rec, func(raw []byte) error {
		has = f.path.Has(format, raw)
		return nil
	})
	return has
}

// Object decodes the object, nil of the zero Record. It is shared and must not be changed.
//
// Possible errors: *DecodeError, if the object does not fit T.
func (r Record[T]) Object() (T, error) {
	if r.rec == nil {
		var none T
		return none, nil
	}
	return r.inf.decode(r.rec, engine.Read)
}

// NewRecord is the newest state; for EventDeleted, the last one.
func (e Event[T]) NewRecord() Record[T] { return Record[T]{e.delta.New, e.inf} }

// OldRecord is the state before; the zero Record for EventAdded.
func (e Event[T]) OldRecord() Record[T] { return Record[T]{e.delta.Old, e.inf} }

// Record returns the state of a key, as Get has it, and whether there is one.
func (l Lister[T]) Record(key string) (r Record[T], exists bool) {
	if l.namespace != "" {
		key = l.namespace + "/" + key
	}
	rec := l.inf.core.Get(key)
	return Record[T]{rec, l.inf}, rec != nil
}

// Records yields the states of the objects whose labels match; a nil selector matches
// all. Nothing is decoded.
func (l Lister[T]) Records(s labels.Selector) iter.Seq[Record[T]] {
	return func(yield func(Record[T]) bool) {
		for r := range l.matching(s) {
			if !yield(Record[T]{r, l.inf}) {
				return
			}
		}
	}
}

// Records yields the states of the objects that have a value. Nothing is decoded.
func (ix Index[T]) Records(value string) iter.Seq[Record[T]] {
	return func(yield func(Record[T]) bool) {
		for r := range ix.inf.core.ByIndex(ix.name, value) {
			if !yield(Record[T]{r, ix.inf}) {
				return
			}
		}
	}
}
