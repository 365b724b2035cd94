package apisim

import (
	"encoding/json"
	"fmt"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// codec turns the objects of a collection into the bytes that are kept, and
// back, and reads what selectors need without decoding the whole.
type codec interface {
	kind() schema.GroupVersionKind

	// empty makes an object without content.
	empty() runtime.Object

	// encode is deterministic: equal objects give equal bytes.
	encode(runtime.Object) ([]byte, error)
	decode([]byte) (runtime.Object, error)

	// stamp returns data with another resource version.
	stamp(data []byte, version uint64) ([]byte, error)

	labels(data []byte) map[string]string

	// metadata returns the protobuf of a PartialObjectMetadata.
	metadata(data []byte) ([]byte, error)
}

// typedCodec keeps built-in types as protobuf, without an envelope.
type typedCodec struct{ gvk schema.GroupVersionKind }

type protoObject interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func (c typedCodec) kind() schema.GroupVersionKind { return c.gvk }

func (c typedCodec) empty() runtime.Object {
	obj, err := scheme.Scheme.New(c.gvk)
	if err != nil {
		panic(err) // the kind came from this scheme
	}
	return obj
}

func (c typedCodec) encode(obj runtime.Object) ([]byte, error) {
	message, ok := obj.(protoObject)
	if !ok {
		return nil, fmt.Errorf("encode %v: type %T has no protobuf form", c.gvk, obj)
	}
	return message.Marshal()
}

func (c typedCodec) decode(data []byte) (runtime.Object, error) {
	obj := c.empty()
	message, ok := obj.(protoObject)
	if !ok {
		return nil, fmt.Errorf("decode %v: type %T has no protobuf form", c.gvk, obj)
	}
	if err := message.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("decode %v: %w", c.gvk, err)
	}
	return obj, nil
}

func (c typedCodec) stamp(data []byte, version uint64) ([]byte, error) {
	return withResourceVersion(data, version), nil
}

func (c typedCodec) labels(data []byte) map[string]string {
	return protoMap(protoField(data, objectMetaField), metaLabelsField)
}

func (c typedCodec) metadata(data []byte) ([]byte, error) {
	// The metadata is the first field of what Marshal wrote, and a
	// PartialObjectMetadata has it under the same number.
	number, _, n := protowire.ConsumeField(data)
	if n < 0 || number != objectMetaField {
		return nil, fmt.Errorf("decode the metadata of %v: the object does not begin with it", c.gvk)
	}
	return data[:n:n], nil
}

// customCodec keeps custom resources as JSON, which begins with apiVersion and
// kind.
type customCodec struct{ gvk schema.GroupVersionKind }

func (c customCodec) kind() schema.GroupVersionKind { return c.gvk }

func (c customCodec) empty() runtime.Object {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(c.gvk)
	return obj
}

func (c customCodec) encode(obj runtime.Object) ([]byte, error) {
	custom, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("encode %v: want unstructured, have %T", c.gvk, obj)
	}
	apiVersion, kind := custom.GroupVersionKind().ToAPIVersionAndKind()
	rest := maps.Clone(custom.Object)
	delete(rest, "apiVersion")
	delete(rest, "kind")
	data, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(make([]byte, 0, len(data)+96), `{"apiVersion":%q,"kind":%q`, apiVersion, kind)
	if len(rest) > 0 {
		head = append(head, ',')
	}
	return append(head, data[1:]...), nil
}

func (c customCodec) decode(data []byte) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &obj.Object); err != nil {
		return nil, fmt.Errorf("decode %v: %w", c.gvk, err)
	}
	return obj, nil
}

func (c customCodec) stamp(data []byte, version uint64) ([]byte, error) {
	obj, err := c.decode(data)
	if err != nil {
		return nil, err
	}
	setVersion(obj, version)
	return c.encode(obj)
}

func (c customCodec) labels(data []byte) map[string]string {
	var object struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if json.Unmarshal(data, &object) != nil {
		return nil
	}
	return object.Metadata.Labels
}

func (c customCodec) metadata(data []byte) ([]byte, error) {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("decode the metadata of %v: %w", c.gvk, err)
	}
	return object.Marshal()
}
