package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// shape is what is known of a type of objects, a pointer to a struct.
type shape struct {
	pointer        reflect.Type
	unstructured   bool
	speaksProtobuf bool
	// typeMeta is where the struct says what kind it is; nil if it does not.
	typeMeta []int
	// quantities leads to what the type's own methods would change.
	quantities *trail
	same       equal
}

// message is what generated types have that write protobuf.
type message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

var (
	messageType      = reflect.TypeFor[message]()
	unstructuredType = reflect.TypeFor[*unstructured.Unstructured]()
	typeMetaType     = reflect.TypeFor[metav1.TypeMeta]()
)

// newShape returns the shape of a type; nil if its objects cannot be encoded.
func newShape(t reflect.Type) *shape {
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil
	}
	s := &shape{pointer: t, unstructured: t == unstructuredType, same: equalOf(t.Elem(), map[reflect.Type]*equal{})}
	s.speaksProtobuf = !s.unstructured && t.Implements(messageType) && decode.SpeaksProtobuf(t.Elem())
	if f, ok := t.Elem().FieldByName("TypeMeta"); ok && f.Type == typeMetaType && len(f.Index) == 1 {
		s.typeMeta = f.Index
	}
	if s.speaksProtobuf {
		s.quantities = trailOf(t.Elem(), map[reflect.Type]*trail{})
	}
	return s
}

// encode appends an object to dst. A panic of the type's own methods is an error.
func (s *shape) encode(dst []byte, obj any, f wire.Format) (raw []byte, err error) {
	defer contain(&err)
	switch {
	case reflect.ValueOf(obj).IsNil():
		return dst, errNothing
	case s.unstructured:
		return appendFields(dst, obj.(*unstructured.Unstructured).Object)
	case f == wire.Protobuf:
		return s.appendProtobuf(dst, obj)
	}
	return appendJSON(dst, obj)
}

var (
	errNothing   = errors.New("encode: there is no object")
	errNotCopied = errors.New("encode: the object would be changed, and cannot be copied")
)

// contain turns a panic into an error.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("encode: panic: %v", p)
	}
}

// proves reports whether bytes give back an object that is equal in every part, those
// included that are not exported. It tells what is nil from what is empty.
func (s *shape) proves(raw []byte, obj any, f wire.Format) bool {
	back, err := s.decode(raw, f)
	if err != nil {
		return false
	}
	if s.unstructured {
		return sameFields(obj.(*unstructured.Unstructured).Object, back.(*unstructured.Unstructured).Object)
	}
	return s.same(reflect.ValueOf(obj).UnsafePointer(), reflect.ValueOf(back).UnsafePointer())
}

// decodeRecord makes an object of a record.
func (s *shape) decodeRecord(r *engine.Record) (obj any, err error) {
	err = decode.With(r, func(raw []byte) (err error) {
		obj, err = s.decode(raw, r.Format())
		return err
	})
	return obj, err
}

// decode makes an object of bytes.
func (s *shape) decode(raw []byte, f wire.Format) (obj any, err error) {
	defer contain(&err)
	if s.unstructured {
		fields, err := decode.FieldsOf(raw)
		return &unstructured.Unstructured{Object: fields}, err
	}
	v := reflect.New(s.pointer.Elem())
	if err := decode.Bytes(raw, f, v.Interface()); err != nil {
		return nil, err
	}
	if f == wire.Protobuf && bytes.HasPrefix(raw, kindTag) {
		return v.Interface(), s.readKind(raw, v)
	}
	return v.Interface(), nil
}

// Protobuf does not say what kind an object is, and some objects do. That is then a
// field before the others, of a number that no type has, so that all who do not look
// for it pass over it: the bytes of a metav1.TypeMeta.
const kindField = 2047

// kindTag begins such bytes: the field's number, and that its length follows.
var kindTag = []byte{kindField<<3&0x7f | 2 | 0x80, kindField << 3 >> 7}

// longestKind is how long a TypeMeta may be whose length is a single byte.
const longestKind = 0x7f

var errOddKind = errors.New("encode: the kind is too long, or not whole")

// appendProtobuf appends an object that has generated methods.
func (s *shape) appendProtobuf(dst []byte, obj any) ([]byte, error) {
	if s.typeMeta != nil {
		kind := reflect.ValueOf(obj).Elem().FieldByIndex(s.typeMeta).Addr().Interface().(*metav1.TypeMeta)
		if *kind != (metav1.TypeMeta{}) {
			raw, err := kind.Marshal()
			if err != nil || len(raw) > longestKind {
				return dst, errOddKind
			}
			dst = append(append(append(dst, kindTag...), byte(len(raw))), raw...)
		}
	}
	own, err := s.writable(obj)
	if err != nil {
		return dst, err
	}
	m, ok := own.(message)
	if !ok {
		return dst, errNotCopied
	}
	at, size := len(dst), m.Size()
	dst = slices.Grow(dst, size)[:at+size]
	n, err := m.MarshalToSizedBuffer(dst[at:])
	if err == nil && n != size {
		err = fmt.Errorf("encode: %T is %d bytes long, and says %d", obj, n, size)
	}
	return dst, err
}

// readKind reads what appendProtobuf wrote before the other fields.
func (s *shape) readKind(raw []byte, v reflect.Value) error {
	rest := raw[len(kindTag):]
	if s.typeMeta == nil || len(rest) == 0 || len(rest) < 1+int(rest[0]) || rest[0] > longestKind {
		return errOddKind
	}
	kind := v.Elem().FieldByIndex(s.typeMeta).Addr().Interface().(*metav1.TypeMeta)
	return kind.Unmarshal(rest[1 : 1+int(rest[0])])
}

// appendJSON appends an object in JSON, as package json writes it.
func appendJSON(dst []byte, obj any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(obj); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
