package kinform

import (
	"reflect"
	"time"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/wire"
)

// FieldValue is what a field can be read as. Names of strings (corev1.PodPhase) are read
// as strings; quantities, too, as the server wrote them, and what may be a number or a
// string; numbers as int64; maps whose values are read as strings as map[string]string.
// A []string has every text, number and boolean at a path, of all elements of the lists
// that it leads through, but for empty ones, and for zero and false where a Go type is known
// and the field is no pointer: encodings differ in whether they have those.
type FieldValue interface {
	string | int64 | bool | time.Time | map[string]string | []string
}

// TypedField is a field of an informer's objects whose values have a Go type. They are
// read from the bytes: no object is decoded, and nothing is allocated but strings, slices
// and maps. It may be used by many goroutines. For several fields of each object, a View
// of a struct that names them reads the bytes once.
type TypedField[T any, V FieldValue] struct {
	Field // for Event.Changed and Record.Has

	read func(wire.Path, wire.Format, []byte) (V, bool)
}

// FieldOf returns a field of the informer's objects, by its path, as Informer.Field does:
//
//	node, err := kinform.FieldOf[string](pods, "spec.nodeName")
//	…
//	if node.New(ev) == node.Old(ev) {
//		return // it is where it was, and nothing was decoded
//	}
//	for pod := range pods.Lister().Records(nil) {
//		count[node.Get(pod)]++
//	}
//
// The error says what is wrong with the path, or what else the field has to be read as.
// Where no Go type is known, a value of another type counts as none when it is read. But
// numbers are read as strings, too, as quantities may be numbers.
func FieldOf[V FieldValue, T any](inf *Informer[T], path string) (TypedField[T, V], error) {
	kind, read := reading[V]()
	f, err := inf.field(path, func(text string, t reflect.Type) (wire.Path, error) { return wire.ParseValue(text, t, kind) })
	if err != nil {
		return TypedField[T, V]{}, err
	}
	return TypedField[T, V]{f, read}, nil
}

// reading returns how values of a type are read.
func reading[V FieldValue]() (wire.Kind, func(wire.Path, wire.Format, []byte) (V, bool)) {
	var kind wire.Kind
	var read, none any = nil, *new(V)
	switch none.(type) {
	case string:
		kind, read = wire.Text, wire.Path.Text
	case int64:
		kind, read = wire.Number, wire.Path.Number
	case bool:
		kind, read = wire.Bool, wire.Path.Bool
	case time.Time:
		kind, read = wire.Time, wire.Path.Time
	case map[string]string:
		kind, read = wire.Map, func(p wire.Path, f wire.Format, raw []byte) (map[string]string, bool) {
			m := p.Map(f, raw)
			return m, m != nil
		}
	case []string:
		kind, read = wire.Texts, func(p wire.Path, f wire.Format, raw []byte) ([]string, bool) {
			all, err := p.Values(nil, f, raw)
			return all, err == nil && len(all) > 0
		}
	}
	return kind, read.(func(wire.Path, wire.Format, []byte) (V, bool))
}

// Get returns the value that a record has, or zero.
func (f TypedField[T, V]) Get(r Record[T]) V {
	v, _ := f.Lookup(r)
	return v
}

// Lookup returns the value that a record has, and whether it has one. Zero is one only
// where it can be told from none: where the Go type has a pointer or a map, and in
// objects of no Go type.
func (f TypedField[T, V]) Lookup(r Record[T]) (value V, exists bool) {
	if r.rec == nil || f.read == nil {
		return value, false
	}
	format := r.rec.Format()
	_ = decode.With(r.rec, func(raw []byte) error {
		value, exists = f.read(f.path, format, raw)
		return nil
	})
	return value, exists
}

// New returns the value of an event's newest state, or zero.
func (f TypedField[T, V]) New(e Event[T]) V { return f.Get(e.NewRecord()) }

// Old returns the value of the state before, or zero.
func (f TypedField[T, V]) Old(e Event[T]) V { return f.Get(e.OldRecord()) }
