package decode

import (
	"github.com/kinform/kinform/engine"
	"github.com/kinform/kinform/internal/unmarshal"
	"github.com/kinform/kinform/wire"
)

// Bytes reads bytes into an object of a struct type that is its zero value, as Into
// does with those of a record. Nothing of them is kept.
func Bytes(raw []byte, f wire.Format, obj any) error { return into(obj, f, raw) }

// FieldsOf makes the fields of an object in JSON, as Fields does.
func FieldsOf(raw []byte) (map[string]any, error) { return unmarshal.JSON(raw) }

// With calls a function with the bytes of a record, which it must not keep.
func With(r *engine.Record, read func(raw []byte) error) error { return withBytes(r, read) }
