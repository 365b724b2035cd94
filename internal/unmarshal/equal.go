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

// equal reports whether two structs are equal; what is nil differs from what is empty.
// Those with fields that are not a part of the encoding are not, unless they are whole
// objects, which say what kind they are there. It only reads.
func (p *plan) equal(at, with unsafe.Pointer, depth int) bool {
	if p.broken || depth > deepest || p.partial && depth > 0 {
		return false
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.op != skip && !f.equal(unsafe.Add(at, f.offset), unsafe.Add(with, f.offset), depth) {
			return false
		}
	}
	return true
}

func (f *field) equal(at, with unsafe.Pointer, depth int) bool {
	switch f.op {
	case opString:
		return *(*string)(at) == *(*string)(with)
	case opBool:
		return *(*bool)(at) == *(*bool)(with)
	case op32:
		return *(*uint32)(at) == *(*uint32)(with)
	case op64:
		return *(*uint64)(at) == *(*uint64)(with)
	case opMessage:
		return f.of.equal(at, with, depth+1)
	case opTime:
		return *(*metav1.Time)(at) == *(*metav1.Time)(with)
	case opQuantity:
		return sameQuantity((*resource.Quantity)(at), (*resource.Quantity)(with))
	case opMethod:
		return sameByMethod(f.typ, at, with)
	case opStringMap:
		return sameMap(at, with, func(a, b string) bool { return a == b })
	case opBytesMap:
		return sameMap(at, with, bytes.Equal)
	case opQuantityMap:
		return sameMap(at, with, func(a, b resource.Quantity) bool { return sameQuantity(&a, &b) })
	case opBytes, opStringSlice, op32Slice, op64Slice, opMessageSlice, opMethodSlice:
		return f.equalSlice((*slice)(at), (*slice)(with), depth)
	}
	return f.equalPointer(*(*unsafe.Pointer)(at), *(*unsafe.Pointer)(with), depth)
}

// sameQuantity compares what two quantities are, whatever they remember.
func sameQuantity(a, b *resource.Quantity) bool {
	x, y := *a, *b
	if x == y {
		return true
	}
	_, _ = x.String(), y.String() // now both do
	return x == y
}

func sameMap[V any](at, with unsafe.Pointer, same func(a, b V) bool) bool {
	a, b := *(*map[string]V)(at), *(*map[string]V)(with)
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, same)
}

// sameByMethod compares two values of a type that is not looked into.
func sameByMethod(t reflect.Type, at, with unsafe.Pointer) bool {
	return reflect.DeepEqual(reflect.NewAt(t, at).Interface(), reflect.NewAt(t, with).Interface())
}

func (f *field) equalSlice(at, with *slice, depth int) bool {
	if (at.at == nil) != (with.at == nil) || at.len != with.len {
		return false
	}
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
		a, b := unsafe.Add(at.at, n), unsafe.Add(with.at, n)
		if f.op == opMessageSlice && !f.of.equal(a, b, depth+1) || f.op == opMethodSlice && !sameByMethod(f.typ.Elem(), a, b) {
			return false
		}
	}
	return true
}

func elements[T any](s *slice) []T { return unsafe.Slice((*T)(s.at), s.len) }

func (f *field) equalPointer(at, with unsafe.Pointer, depth int) bool {
	if at == nil || with == nil {
		return at == with
	}
	switch f.op {
	case opStringPtr:
		return *(*string)(at) == *(*string)(with)
	case opBoolPtr:
		return *(*bool)(at) == *(*bool)(with)
	case op32Ptr:
		return *(*uint32)(at) == *(*uint32)(with)
	case op64Ptr:
		return *(*uint64)(at) == *(*uint64)(with)
	case opMessagePtr:
		return f.of.equal(at, with, depth+1)
	case opTimePtr:
		return *(*metav1.Time)(at) == *(*metav1.Time)(with)
	case opQuantityPtr:
		return sameQuantity((*resource.Quantity)(at), (*resource.Quantity)(with))
	}
	return sameByMethod(f.typ, at, with)
}
