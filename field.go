package kinform

import (
	"fmt"
	"reflect"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// Field is a part of an informer's objects, named by its path. Event.Changed compares it
// and Record.Has asks for it, by the bytes; nothing is decoded.
type Field struct {
	path wire.Path
}

// String returns the path.
func (f Field) String() string { return f.path.String() }

// Field returns a field of the informer's objects, as kubectl's JSONPath writes it:
// "spec", "status.phase", "metadata.labels", "spec.containers.image",
// "metadata.annotations['example.com/owner']",
// "status.conditions[?(@.type=='Ready')].status".
//
// The error says what is wrong with the path: which name the objects do not have, and
// what may have been meant. Paths are checked with the informer's Go type, or with that
// of another view of the same objects: one of k8s.io/api, or one that is generated for a
// custom resource. Where there is none, as of unstructured objects and of structs that the
// program wrote itself, objects may have anything.
func (inf *Informer[T]) Field(path string) (Field, error) {
	return inf.field(path, wire.ParsePart)
}

func (inf *Informer[T]) field(path string, parse func(string, reflect.Type) (wire.Path, error)) (Field, error) {
	t, err := inf.pathType()
	if err != nil {
		return Field{}, err
	}
	p, err := parse(path, t)
	if err == nil && inf.core.query.Protobuf && !p.InProtobuf() {
		err = fmt.Errorf("path %q: it is not a part of the objects in protobuf", path)
	}
	if err != nil {
		return Field{}, fmt.Errorf("kinform: %s: %w", inf.core.current(), err)
	}
	return Field{p}, nil
}

// Changed reports whether an event has changed one of some fields: a handler that asks it
// first spares the decoding of updates that are not its business.
//
//	spec, err := deployments.Field("spec")
//	…
//	if !ev.Changed(spec) {
//		return
//	}
//
// It is true for EventAdded and EventDeleted, and false for EventResynced. Of two states
// the bytes are compared. So it may be true for values that mean the same, as after a
// change of the server's version; it is never false for values that differ.
func (e Event[T]) Changed(fields ...Field) bool {
	switch {
	case e.delta.Kind == engine.Resynced:
		return false
	case e.delta.Kind != engine.Updated || e.delta.Old == nil:
		return true
	}
	return fieldsDiffer(e.delta.Old, e.delta.New, fields)
}

// fieldsDiffer compares two states.
func fieldsDiffer(old, now *engine.Record, fields []Field) (differ bool) {
	format := now.Format()
	if format != old.Format() {
		return true
	}
	_ = decode.With(old, func(a []byte) error {
		return decode.With(now, func(b []byte) error {
			for _, f := range fields {
				if !f.path.Same(format, a, b) {
					differ = true
					break
				}
			}
			return nil
		})
	})
	return differ
}
