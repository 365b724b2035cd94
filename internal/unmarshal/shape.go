package unmarshal

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// shape says how a Go type is read from JSON.
type shape struct {
	kind   shapeKind
	typ    reflect.Type
	elem   *shape  // of a pointer, a slice or a map
	size   uintptr // of an element of a slice
	fields []member
	byName map[string]int // of fields
}

// member is a field of a struct, or of a struct that is embedded in it.
type member struct {
	name   string
	offset uintptr
	of     *shape
}

type shapeKind uint8

const (
	shapeOther  shapeKind = iota // left to sigs.k8s.io/json
	shapeMethod                  // its own UnmarshalJSON, which gets bytes that it may keep
	shapeCopies                  // its own UnmarshalJSON, which is known to copy what it keeps
	shapeTime
	shapeQuantity
	shapeIntOrString
	shapeString
	shapeBool
	shapeInt
	shapeUint
	shapeFloat
	shapeBytes
	shapeAny
	shapePointer
	shapeSlice
	shapeMap
	shapeStrings    // map[string]string, whatever the strings are called
	shapeQuantities // map[string]resource.Quantity, the same
	shapeStruct
	shapeNever // no object with a value of this type is read by its shape
)

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType          = reflect.TypeFor[json.Number]()

	// known are types with an UnmarshalJSON of their own.
	known = map[reflect.Type]shapeKind{
		reflect.TypeFor[metav1.Time]():          shapeTime,
		reflect.TypeFor[intstr.IntOrString]():   shapeIntOrString,
		reflect.TypeFor[metav1.MicroTime]():     shapeCopies,
		reflect.TypeFor[metav1.Duration]():      shapeCopies,
		reflect.TypeFor[metav1.FieldsV1]():      shapeCopies,
		reflect.TypeFor[resource.Quantity]():    shapeQuantity,
		reflect.TypeFor[runtime.RawExtension](): shapeCopies,
		reflect.TypeFor[json.RawMessage]():      shapeCopies,
	}
)

var shapes struct {
	mu    sync.Mutex
	known map[reflect.Type]*shape
	ready sync.Map // the same, of reflect.Type and *shape, for readers
}

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.ready.Load(t); ok {
		return s.(*shape)
	}
	shapes.mu.Lock()
	defer shapes.mu.Unlock()
	if shapes.known == nil {
		shapes.known = map[reflect.Type]*shape{}
	}
	s := makeShape(t)
	shapes.ready.Store(t, s)
	return s
}

// makeShape returns the shape of a type. Types that contain themselves find the shape
// that is being made.
func makeShape(t reflect.Type) *shape {
	if s, ok := shapes.known[t]; ok {
		return s
	}
	s := &shape{typ: t}
	shapes.known[t] = s
	p := reflect.PointerTo(t)
	switch own, text := p.Implements(unmarshalerType), p.Implements(textUnmarshalerType); {
	case known[t] != shapeOther:
		s.kind = known[t]
	case own && t.Name() != "":
		s.kind = shapeMethod
	case (own || text) && t.Name() == "":
		s.kind = shapeNever // its method counts only behind a pointer
	case text || t == numberType:
		// shapeOther
	default:
		s.settle()
	}
	return s
}

// settle is for a type that has no methods for JSON.
func (s *shape) settle() {
	switch t := s.typ; t.Kind() {
	case reflect.String:
		s.kind = shapeString
	case reflect.Bool:
		s.kind = shapeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.kind = shapeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.kind = shapeUint
	case reflect.Float32, reflect.Float64:
		s.kind = shapeFloat
	case reflect.Interface:
		if t.NumMethod() == 0 {
			s.kind = shapeAny
		}
	case reflect.Pointer:
		// What pointers to pointers and to interfaces do with null is left to others,
		// and pointers with a name, behind which no method counts.
		if k := t.Elem().Kind(); t.Name() == "" && k != reflect.Pointer && k != reflect.Interface {
			s.kind, s.elem = shapePointer, makeShape(t.Elem())
		}
	case reflect.Slice:
		s.kind, s.elem, s.size = shapeSlice, makeShape(t.Elem()), t.Elem().Size()
		if t.Elem().Kind() == reflect.Uint8 {
			s.kind = shapeBytes
		}
	case reflect.Map:
		key := makeShape(t.Key())
		if key.kind != shapeString {
			return
		}
		s.kind, s.elem = shapeMap, makeShape(t.Elem())
		switch s.elem.kind {
		case shapeString:
			s.kind = shapeStrings
		case shapeQuantity:
			s.kind = shapeQuantities
		}
	case reflect.Struct:
		s.byName = map[string]int{}
		if s.addFields(s.typ, 0) && len(s.fields) <= mostFields {
			s.kind = shapeStruct
		}
	}
}

// mostFields is how many fields a struct may have: seen has a bit for each.
const mostFields = 256

// addFields adds the fields of a struct type, and reports whether all is as expected:
// no name twice, and nothing that only sigs.k8s.io/json knows how to set.
func (s *shape) addFields(t reflect.Type, offset uintptr) bool {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-", !f.Anonymous && !f.IsExported():
			continue
		case !plainName(name), strings.Contains(options, "string"):
			return false
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !s.addFields(f.Type, offset+f.Offset) {
				return false
			}
			continue
		case !f.IsExported():
			return false
		}
		if name == "" {
			name = f.Name
		}
		if _, twice := s.byName[name]; twice {
			return false
		}
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, member{name, offset + f.Offset, makeShape(f.Type)})
	}
	return true
}

// plainName reports whether a name in a tag is taken as it is.
func plainName(name string) bool {
	for _, c := range name {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("_-$./", c)) {
			return false
		}
	}
	return true
}
