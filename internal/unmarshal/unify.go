package unmarshal

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unify gives an object, which nobody else has yet, those parts of another one of the
// same type that are equal to its own: what ProtobufNear does with bytes, for objects that
// were changed since they were decoded. As there, maps of strings on the way to what differs
// are not shared. It returns about how much memory the object has of its own then; ok is false if
// objects of the type cannot be compared this way.
func Unify(obj, with any) (own int, ok bool) {
	own, _, ok = unify(obj, with)
	return own, ok
}

// Same reports whether an object, which nobody else has yet, is equal to another one of
// its type, whatever kinds they say that they are. It is Unify for those who want to know
// that. False may also be said of types that cannot be compared this way.
func Same(obj, with any) bool {
	_, same, ok := unify(obj, with)
	return ok && same
}

func unify(obj, with any) (own int, same, ok bool) {
	v, w := reflect.ValueOf(obj), reflect.ValueOf(with)
	if !v.IsValid() || !w.IsValid() || v.Type() != w.Type() || v.Kind() != reflect.Pointer ||
		v.Type().Elem().Kind() != reflect.Struct || v.IsNil() || w.IsNil() {
		return 0, false, false
	}
	p := planOf(v.Type().Elem())
	if p == nil {
		return 0, false, false
	}
	u := unifier{own: int(v.Type().Elem().Size())}
	same = u.message(v.UnsafePointer(), w.UnsafePointer(), p, 0)
	return u.own, same, true
}

type unifier struct{ own int }

// message unifies two structs, and reports whether they are equal.
func (u *unifier) message(at, with unsafe.Pointer, p *plan, depth int) bool {
	if p.broken || depth > deepest {
		return false
	}
	same := !p.partial || depth == 0
	for i := range p.fields {
		if f := &p.fields[i]; f.op != skip && !u.field(f, unsafe.Add(at, f.offset), unsafe.Add(with, f.offset), depth) {
			same = false
		}
	}
	return same
}

// field unifies a field of two structs, and reports whether it is equal.
func (u *unifier) field(f *field, at, with unsafe.Pointer, depth int) bool {
	switch f.op {
	case opString:
		return u.text((*string)(at), (*string)(with))
	case opBool:
		return *(*bool)(at) == *(*bool)(with)
	case op32:
		return *(*uint32)(at) == *(*uint32)(with)
	case op64:
		return *(*uint64)(at) == *(*uint64)(with)
	case opMessage:
		return u.message(at, with, f.of, depth+1)
	case opTime:
		return *(*metav1.Time)(at) == *(*metav1.Time)(with)
	case opQuantity:
		return u.quantity((*resource.Quantity)(at), (*resource.Quantity)(with))
	case opMethod:
		return sameByMethod(f.typ, at, with)
	case opStringMap, opBytesMap, opQuantityMap:
		return u.maps(f.op, at, with)
	case opBytes, opStringSlice, op32Slice, op64Slice, opMessageSlice, opMethodSlice:
		return u.slice(f, (*slice)(at), (*slice)(with), depth)
	}
	return u.pointer(f, (*unsafe.Pointer)(at), (*unsafe.Pointer)(with), depth)
}

func (u *unifier) text(at, with *string) bool {
	if *at != *with {
		u.own += len(*at)
		return false
	}
	*at = *with
	return true
}

// quantity compares two quantities. Those of an object that others have parts of already
// remember their text (see fillQuantities of package engine).
func (u *unifier) quantity(at, with *resource.Quantity) bool {
	_ = at.String()
	return *at == *with
}

// maps compares two maps. Those of strings are not shared, unless they are inside of what
// is.
func (u *unifier) maps(o op, at, with unsafe.Pointer) bool {
	switch o {
	case opStringMap:
		a, b := *(*map[string]string)(at), *(*map[string]string)(with)
		u.own += len(a) * (&field{op: o}).weight()
		return (a == nil) == (b == nil) && maps.Equal(a, b)
	case opBytesMap:
		a, b := (*map[string][]byte)(at), *(*map[string][]byte)(with)
		if same := (*a == nil) == (b == nil) && maps.EqualFunc(*a, b, bytes.Equal); same {
			*a = b
			return true
		}
		for _, v := range *a {
			u.own += len(v) + (&field{op: o}).weight()
		}
		return false
	}
	a, b := (*map[string]resource.Quantity)(at), *(*map[string]resource.Quantity)(with)
	if same := (*a == nil) == (b == nil) && maps.Equal(*a, b); same {
		*a = b
		return true
	}
	u.own += len(*a) * (&field{op: o}).weight()
	return false
}

func (u *unifier) slice(f *field, at, with *slice, depth int) bool {
	before := u.own
	same := (at.at == nil) == (with.at == nil) && at.len == with.len
	u.own += at.len * elementSize(f)
	if f.op == opMessageSlice {
		for i := range min(at.len, with.len) {
			n := uintptr(i) * f.size
			if !u.message(unsafe.Add(at.at, n), unsafe.Add(with.at, n), f.of, depth+1) {
				same = false
			}
		}
	} else if same {
		same = sameElements(f, at, with)
	}
	if same && at.len > 0 {
		*at = slice{at: with.at, len: with.len, cap: with.len} // an append allocates its own memory
		u.own = before
	}
	return same
}

func elementSize(f *field) int {
	switch f.op {
	case opBytes:
		return 1
	case opStringSlice:
		return int(unsafe.Sizeof(""))
	case op32Slice:
		return 4
	case op64Slice:
		return 8
	}
	return int(f.size)
}

// sameElements compares slices of the same length that are not of messages.
func sameElements(f *field, at, with *slice) bool {
	switch f.op {
	case opBytes:
		return bytes.Equal(elements[byte](at), elements[byte](with))
	case opStringSlice:
		return slices.Equal(elements[string](at), elements[string](with))
	case op32Slice:
		return slices.Equal(elements[uint32](at), elements[uint32](with))
	case op64Slice:
		return slices.Equal(elements[uint64](at), elements[uint64](with))
	}
	for i := range at.len {
		n := uintptr(i) * f.size
		if !sameByMethod(f.typ.Elem(), unsafe.Add(at.at, n), unsafe.Add(with.at, n)) {
			return false
		}
	}
	return true
}

func elements[T any](s *slice) []T { return unsafe.Slice((*T)(s.at), s.len) }

// sameByMethod compares two values of a type that is not looked into.
func sameByMethod(t reflect.Type, at, with unsafe.Pointer) bool {
	return reflect.DeepEqual(reflect.NewAt(t, at).Interface(), reflect.NewAt(t, with).Interface())
}

func (u *unifier) pointer(f *field, at, with *unsafe.Pointer, depth int) bool {
	if *at == nil || *with == nil {
		if *at != nil {
			u.own += int(f.weight())
		}
		return *at == *with
	}
	before := u.own
	u.own += max(f.weight(), 8)
	var same bool
	switch f.op {
	case opStringPtr:
		same = *(*string)(*at) == *(*string)(*with)
	case opBoolPtr:
		same = *(*bool)(*at) == *(*bool)(*with)
	case op32Ptr:
		same = *(*uint32)(*at) == *(*uint32)(*with)
	case op64Ptr:
		same = *(*uint64)(*at) == *(*uint64)(*with)
	case opMessagePtr:
		same = u.message(*at, *with, f.of, depth+1)
	case opTimePtr:
		same = *(*metav1.Time)(*at) == *(*metav1.Time)(*with)
	case opQuantityPtr:
		same = u.quantity((*resource.Quantity)(*at), (*resource.Quantity)(*with))
	case opMethodPtr:
		same = sameByMethod(f.typ, *at, *with)
	}
	if same {
		*at, u.own = *with, before
	}
	return same
}
