// Package decode makes objects of records. Package kinform and the drop-ins
// differ in what they call objects, not in how they read them.
//
// What may live here: bytes to Go types. What may not: which types, and which kinds
// the objects say that they are.
package decode

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/unmarshal"
	"github.com/kinform/kinform/wire"
)

// message is what generated types have that protobuf bytes can be read into.
type message interface{ Unmarshal([]byte) error }

var messageType = reflect.TypeFor[message]()

// SpeaksProtobuf reports whether objects of a struct type can be read from protobuf.
// A struct around a single one that can, such as metav1.ObjectMeta, has the method
// of that one, which would read into it alone.
func SpeaksProtobuf(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(messageType) && !isPromoted(t)
}

// isPromoted reports whether a struct type may have its method from an embedded one: of
// those with a method of their own, a single one is nearest. If there are several, Go
// takes none of theirs.
func isPromoted(t reflect.Type) bool {
	seen := map[reflect.Type]bool{t: true}
	for level := []reflect.Type{t}; len(level) > 0; {
		var next []reflect.Type
		owners := 0
		for _, s := range level {
			for f := range s.Fields() {
				e := f.Type
				if e.Kind() == reflect.Pointer {
					e = e.Elem()
				}
				switch {
				case !f.Anonymous || seen[e] && e.Kind() == reflect.Struct:
				case e.Kind() != reflect.Struct:
					if f.Type.Implements(messageType) || reflect.PointerTo(f.Type).Implements(messageType) {
						owners++
					}
				case SpeaksProtobuf(e):
					owners++
				default:
					seen[e] = true
					next = append(next, e)
				}
			}
		}
		if owners > 0 {
			return owners == 1
		}
		level = next
	}
	return false
}

// Typed makes an object of a struct type, as a pointer. If there is a neighbour, the
// two objects share what is the same in both.
func Typed(r *engine.Record, near engine.Neighbour, t reflect.Type) (any, error) {
	v := reflect.New(t)
	obj := v.Interface()
	var err error
	if m, ok := obj.(message); ok && r.Format() == wire.Protobuf && near.Object != nil && reflect.TypeOf(near.Object) == v.Type() {
		err = withBytes(r, func(raw []byte) error { return intoNear(m, raw, near) })
	} else {
		err = Into(r, obj)
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// Into reads a record into an object of a struct type that is its zero value. The
// object shares nothing with others.
func Into(r *engine.Record, obj any) error {
	return withBytes(r, func(raw []byte) error { return into(obj, r.Format(), raw) })
}

// intoNear reads protobuf into an object, with another state or a sibling of it decoded.
func intoNear(obj message, raw []byte, near engine.Neighbour) error {
	return withBytes(near.Record, func(old []byte) error {
		own, err := unmarshal.ProtobufNear(raw, obj, unmarshal.Near{Object: near.Object.(message), Raw: old, Sibling: near.Sibling})
		near.Took(own)
		return err
	})
}

// Metadata makes the metadata of an object, whole or cut down, without its kind.
func Metadata(r *engine.Record) (*metav1.PartialObjectMetadata, error) {
	obj := &metav1.PartialObjectMetadata{}
	err := withBytes(r, func(raw []byte) error {
		part, err := wire.Metadata(r.Format(), raw)
		if err != nil {
			return err
		}
		return into(&obj.ObjectMeta, r.Format(), part)
	})
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// Fields makes the fields of an object that is held as JSON.
func Fields(r *engine.Record) (map[string]any, error) {
	var fields map[string]any
	err := withBytes(r, func(raw []byte) (err error) {
		fields, err = unmarshal.JSON(raw)
		return err
	})
	return fields, err
}

func into(obj any, f wire.Format, raw []byte) error {
	if f == wire.JSON {
		return unmarshal.JSONInto(raw, obj)
	}
	m, ok := obj.(message)
	if !ok {
		return fmt.Errorf("%T cannot be read from protobuf", obj)
	}
	return unmarshal.Protobuf(raw, m)
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// largestBuffer is the size up to which buffers are used again.
const largestBuffer = 1 << 20

// withBytes calls a function with a record's bytes, in place or in reused memory.
// The function must copy what it keeps.
func withBytes(r *engine.Record, read func([]byte) error) error {
	if plain := r.Plain(); plain != nil {
		defer runtime.KeepAlive(r)
		return read(plain)
	}
	buf := buffers.Get().(*[]byte)
	*buf = r.AppendBytes((*buf)[:0])
	defer func() {
		if cap(*buf) <= largestBuffer {
			buffers.Put(buf)
		}
	}()
	return read(*buf)
}
