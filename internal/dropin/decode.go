package dropin

import (
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/engine"
	"github.com/kinform/kinform/wire"
)

// message is what generated types have that protobuf bytes can be read into.
type message interface{ Unmarshal([]byte) error }

// SpeaksProtobuf tells whether objects like obj can be read from protobuf.
func SpeaksProtobuf(obj runtime.Object) bool {
	_, ok := obj.(message)
	return ok
}

// DecodeTyped makes objects of the example's type, as client-go's typed clients
// do: they do not say what kind they are.
func DecodeTyped(example runtime.Object) func(*engine.Record, engine.Kinds) (any, error) {
	t := reflect.TypeOf(example).Elem()
	return func(r *engine.Record, _ engine.Kinds) (any, error) {
		obj := reflect.New(t).Interface().(runtime.Object)
		err := withBytes(r, func(raw []byte) error { return decodeInto(obj, r.Format(), raw) })
		if err != nil {
			return nil, err
		}
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return obj, nil
	}
}

// DecodeMetadata makes metadata of objects, whole or cut down, as client-go's
// metadata client does: it does not say what kind they are.
func DecodeMetadata(r *engine.Record, _ engine.Kinds) (any, error) {
	obj := &metav1.PartialObjectMetadata{}
	err := withBytes(r, func(raw []byte) error {
		part, err := wire.Metadata(r.Format(), raw)
		if err != nil {
			return err
		}
		return decodeInto(&obj.ObjectMeta, r.Format(), part)
	})
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// DecodeUnstructured makes unstructured objects of JSON, as client-go's dynamic
// client does: where an object does not say what kind it is, its list did.
func DecodeUnstructured(r *engine.Record, kinds engine.Kinds) (any, error) {
	if r.Format() != wire.JSON {
		return nil, fmt.Errorf("unstructured objects are read from JSON, and the server sent format %v", r.Format())
	}
	obj := &unstructured.Unstructured{}
	err := withBytes(r, func(raw []byte) error {
		return kjson.UnmarshalCaseSensitivePreserveInts(raw, &obj.Object)
	})
	if err != nil {
		return nil, err
	}
	if obj.GetKind() == "" && obj.GetAPIVersion() == "" {
		obj.SetKind(kinds.Kind)
		obj.SetAPIVersion(kinds.APIVersion)
	}
	return obj, nil
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// withBytes has a record's bytes read from memory that is used again. Decoders
// copy what they keep.
func withBytes(r *engine.Record, read func([]byte) error) error {
	buf := buffers.Get().(*[]byte)
	*buf = r.AppendBytes((*buf)[:0])
	if cap(*buf) <= 1<<20 { // a rare large object does not stay
		defer buffers.Put(buf)
	}
	return read(*buf)
}

func decodeInto(obj any, f wire.Format, raw []byte) error {
	if f == wire.JSON {
		return kjson.UnmarshalCaseSensitivePreserveInts(raw, obj)
	}
	m, ok := obj.(message)
	if !ok {
		return fmt.Errorf("%T cannot be read from protobuf", obj)
	}
	return m.Unmarshal(raw)
}
