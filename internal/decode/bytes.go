package decode

import (
	"reflect"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/unmarshal"
	"github.com/kinform/kinform/wire"
)

// Bytes reads bytes into an object of a struct type that is its zero value, as Into
// does with those of a record. Nothing of them is kept.
func Bytes(raw []byte, f wire.Format, obj any) error { return into(obj, f, raw) }

// Projection reads some fields of objects into a struct of the program's own.
type Projection = unmarshal.Projection

// NewProjection returns how a struct type is read from objects of a type that speaks
// protobuf. The error names the field that does not fit.
func NewProjection(part, whole reflect.Type) (*Projection, error) {
	return unmarshal.NewProjection(part, whole)
}

// CheckNames returns an error if a struct names what objects of a type do not have in JSON.
func CheckNames(part, whole reflect.Type) error { return unmarshal.CheckNames(part, whole) }

// NamesIn returns the paths of the fields that a struct names, outer ones first.
func NamesIn(t reflect.Type) [][]string { return unmarshal.NamesIn(t) }

// Projected makes an object of a projection's struct type, as a pointer.
func Projected(r *engine.Record, p *Projection, t reflect.Type) (any, error) {
	if r.Format() == wire.JSON {
		return Typed(r, engine.Neighbour{}, t)
	}
	obj := reflect.New(t).Interface()
	if err := withBytes(r, func(raw []byte) error { return p.Read(raw, obj) }); err != nil {
		return nil, err
	}
	return obj, nil
}

// Unify gives an object, which nobody else has yet, the parts of its neighbour's that are
// equal to its own.
func Unify(obj any, near engine.Neighbour) {
	if near.Object == nil {
		return
	}
	if own, ok := unmarshal.Unify(obj, near.Object); ok {
		near.Took(own)
	}
}

// FieldsOf makes the fields of an object in JSON, as Fields does.
func FieldsOf(raw []byte) (map[string]any, error) { return unmarshal.JSON(raw) }

// With calls a function with the bytes of a record, which it must not keep.
func With(r *engine.Record, read func(raw []byte) error) error { return withBytes(r, read) }
