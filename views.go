package kinform

import (
	"errors"
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

var (
	unstructuredType = reflect.TypeFor[unstructured.Unstructured]()
	metadataType     = reflect.TypeFor[metav1.PartialObjectMetadata]()
)

// message is what generated types have that protobuf bytes can be read into.
type message interface{ Unmarshal([]byte) error }

var messageType = reflect.TypeFor[message]()

// speaksProtobuf tells whether objects of a type can be read from protobuf.
func speaksProtobuf(t reflect.Type) bool { return reflect.PointerTo(t).Implements(messageType) }

// views are the ways in which one resource is read. Readers of one type share a
// view, and with it the decoded objects.
type views struct {
	kind func() schema.GroupVersionKind

	mu    sync.Mutex
	known map[reflect.Type]*engine.View
	// native is a type that the stored protobuf bytes can be read into. Unlike
	// JSON they do not explain themselves, so unstructured readers go through it.
	native reflect.Type
}

// of returns the view of a type.
func (v *views) of(t reflect.Type) *engine.View {
	v.mu.Lock()
	defer v.mu.Unlock()
	if view := v.known[t]; view != nil {
		return view
	}
	view := &engine.View{Name: "*" + t.String()}
	switch {
	case t == metadataType:
		view.Decode = v.metadata
	case t == unstructuredType:
		view.Decode = v.unstructured
	default:
		view.Decode = func(r *engine.Record) (any, error) { return v.typed(r, t) }
		if v.native == nil && speaksProtobuf(t) {
			v.native = t
		}
	}
	if v.known == nil {
		v.known = map[reflect.Type]*engine.View{}
	}
	v.known[t] = view
	return view
}

func (v *views) nativeType() reflect.Type {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.native
}

func (v *views) typed(r *engine.Record, t reflect.Type) (any, error) {
	obj := reflect.New(t).Interface()
	err := withBytes(r, func(raw []byte) error { return decodeInto(obj, r.Format(), raw) })
	if err != nil {
		return nil, err
	}
	if o, ok := obj.(runtime.Object); ok {
		v.name(o)
	}
	return obj, nil
}

// name gives an object its kind, if that is known from elsewhere than itself.
func (v *views) name(o runtime.Object) {
	if gvk := v.kind(); gvk.Kind != "" {
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
}

var unpackBuffers = sync.Pool{New: func() any { return new([]byte) }}

// withBytes has a record's bytes read from memory that is used again. Decoders
// copy what they keep.
func withBytes(r *engine.Record, read func([]byte) error) error {
	buf := unpackBuffers.Get().(*[]byte)
	*buf = r.AppendBytes((*buf)[:0])
	if cap(*buf) <= 1<<20 { // a rare large object does not stay
		defer unpackBuffers.Put(buf)
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

func (v *views) metadata(r *engine.Record) (any, error) {
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
	v.name(obj)
	return obj, nil
}

var errNoNative = errors.New("the objects are held as protobuf, and no typed view of them exists")

func (v *views) unstructured(r *engine.Record) (any, error) {
	obj := &unstructured.Unstructured{}
	if r.Format() == wire.JSON {
		err := withBytes(r, func(raw []byte) error {
			return kjson.UnmarshalCaseSensitivePreserveInts(raw, &obj.Object)
		})
		if err != nil {
			return nil, err
		}
	} else {
		t := v.nativeType()
		if t == nil {
			return nil, errNoNative
		}
		typed, err := v.typed(r, t)
		if err != nil {
			return nil, err
		}
		if obj.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
			return nil, err
		}
	}
	v.name(obj)
	return obj, nil
}
