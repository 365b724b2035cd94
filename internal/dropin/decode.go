package dropin

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// SpeaksProtobuf reports whether objects like obj can be read from protobuf.
func SpeaksProtobuf(obj runtime.Object) bool {
	return decode.SpeaksProtobuf(reflect.TypeOf(obj).Elem())
}

// Decoder makes objects of records. Kinds is what the server called them in its list.
type Decoder func(r *engine.Record, near engine.Neighbour, kinds engine.Kinds) (any, error)

// DecodeTyped makes objects of the example's type, as client-go's typed clients
// do: they do not say what kind they are.
func DecodeTyped(example runtime.Object) Decoder {
	t := reflect.TypeOf(example).Elem()
	return func(r *engine.Record, near engine.Neighbour, _ engine.Kinds) (any, error) {
		obj, err := decode.Typed(r, near, t)
		if err != nil {
			return nil, err
		}
		obj.(runtime.Object).GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return obj, nil
	}
}

// DecodeMetadata makes metadata of objects, whole or cut down, as client-go's
// metadata client does: it does not say what kind they are.
func DecodeMetadata(r *engine.Record, _ engine.Neighbour, _ engine.Kinds) (any, error) {
	obj, err := decode.Metadata(r)
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// DecodeUnstructured makes unstructured objects of JSON, as client-go's dynamic
// client does: where an object does not say what kind it is, its list did.
func DecodeUnstructured(r *engine.Record, _ engine.Neighbour, kinds engine.Kinds) (any, error) {
	if r.Format() != wire.JSON {
		return nil, fmt.Errorf("unstructured objects are read from JSON, and the server sent format %v", r.Format())
	}
	fields, err := decode.Fields(r)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: fields}
	if obj.GetKind() == "" && obj.GetAPIVersion() == "" {
		obj.SetKind(kinds.Kind)
		obj.SetAPIVersion(kinds.APIVersion)
	}
	return obj, nil
}
