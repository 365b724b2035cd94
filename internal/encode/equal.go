package encode

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Comparing is half of what a proof costs if reflect.DeepEqual does it, which keeps
// books on what it has seen. It is used only for types that contain themselves: their
// values may, too, if their own methods make them.

// equal compares what is at two addresses, as reflect.DeepEqual compares values of the
// type that it was made for.
type equal func(a, b unsafe.Pointer) bool

// equalOf returns how values of a type are compared. Known has the types that are being
// looked at, which the present one may contain.
func equalOf(t reflect.Type, known map[reflect.Type]*equal) equal {
	f := known[t]
	switch {
	case f == nil:
		f = new(equal)
		known[t] = f
		*f = newEqual(t, known)
	case *f == nil:
		return func(a, b unsafe.Pointer) bool {
			return reflect.DeepEqual(reflect.NewAt(t, a).Interface(), reflect.NewAt(t, b).Interface())
		}
	}
	return *f
}

func newEqual(t reflect.Type, known map[reflect.Type]*equal) equal {
	switch t.Kind() {
	case reflect.Float32:
		return sameAs[float32]
	case reflect.Float64:
		return sameAs[float64]
	case reflect.String:
		return sameAs[string]
	case reflect.Struct:
		return equalStructs(t, known)
	case reflect.Pointer:
		return equalPointers(equalOf(t.Elem(), known))
	case reflect.Slice:
		return equalSlices(t.Elem(), known)
	case reflect.Array:
		return equalRuns(t.Elem(), uintptr(t.Len()), known)
	case reflect.Map:
		return equalMaps(t, known)
	case reflect.Func:
		return func(a, b unsafe.Pointer) bool { return *(*unsafe.Pointer)(a) == nil && *(*unsafe.Pointer)(b) == nil }
	}
	if n := plainSize(t); n > 0 {
		return sameMemory(n)
	}
	return deepEqual(t)
}

func sameAs[T comparable](a, b unsafe.Pointer) bool { return *(*T)(a) == *(*T)(b) }

// plainSize is the size of a type whose values are equal if their memory is; 0 for
// others.
func plainSize(t reflect.Type) uintptr {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Uintptr:
		return t.Size()
	default:
		return 0
	}
}

// sameMemory compares so many bytes.
func sameMemory(n uintptr) equal {
	switch n {
	case 1:
		return sameAs[uint8]
	case 4:
		return sameAs[uint32]
	case 8:
		return sameAs[uint64]
	}
	return func(a, b unsafe.Pointer) bool {
		return string(unsafe.Slice((*byte)(a), n)) == string(unsafe.Slice((*byte)(b), n))
	}
}

// deepEqual leaves a type to reflect.DeepEqual: interfaces, and what is rare.
func deepEqual(t reflect.Type) equal {
	return func(a, b unsafe.Pointer) bool {
		return reflect.DeepEqual(reflect.NewAt(t, a).Elem().Interface(), reflect.NewAt(t, b).Elem().Interface())
	}
}

// part is a field of a struct, or several that lie side by side.
type part struct {
	offset, size uintptr
	same         equal
	plain        bool
}

func equalStructs(t reflect.Type, known map[reflect.Type]*equal) equal {
	var parts []part
	for i := range t.NumField() {
		field := t.Field(i)
		p := part{offset: field.Offset, size: field.Type.Size(), plain: plainSize(field.Type) > 0}
		if p.size == 0 {
			continue
		}
		if n := len(parts); n > 0 && p.plain && parts[n-1].plain && parts[n-1].offset+parts[n-1].size == p.offset {
			parts[n-1].size += p.size
			parts[n-1].same = sameMemory(parts[n-1].size)
			continue
		}
		p.same = equalOf(field.Type, known)
		parts = append(parts, p)
	}
	return func(a, b unsafe.Pointer) bool {
		for i := range parts {
			p := &parts[i]
			if !p.same(unsafe.Add(a, p.offset), unsafe.Add(b, p.offset)) {
				return false
			}
		}
		return true
	}
}

func equalPointers(same equal) equal {
	return func(a, b unsafe.Pointer) bool {
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return x == y || x != nil && y != nil && same(x, y)
	}
}

// header is what a slice of any type is in memory.
type header struct {
	at       unsafe.Pointer
	len, cap int
}

func equalSlices(elem reflect.Type, known map[reflect.Type]*equal) equal {
	size, plain := elem.Size(), plainSize(elem)
	same := equalOf(elem, known)
	return func(a, b unsafe.Pointer) bool {
		x, y := (*header)(a), (*header)(b)
		switch {
		case (x.at == nil) != (y.at == nil) || x.len != y.len:
			return false
		case x.at == y.at || x.len == 0:
			return true
		case plain > 0:
			return string(unsafe.Slice((*byte)(x.at), size*uintptr(x.len))) == string(unsafe.Slice((*byte)(y.at), size*uintptr(y.len)))
		}
		for i := range uintptr(x.len) {
			if !same(unsafe.Add(x.at, i*size), unsafe.Add(y.at, i*size)) {
				return false
			}
		}
		return true
	}
}

// equalRuns compares arrays.
func equalRuns(elem reflect.Type, n uintptr, known map[reflect.Type]*equal) equal {
	size, same := elem.Size(), equalOf(elem, known)
	return func(a, b unsafe.Pointer) bool {
		for i := range n {
			if !same(unsafe.Add(a, i*size), unsafe.Add(b, i*size)) {
				return false
			}
		}
		return true
	}
}

// equalMaps compares the maps that most objects have: texts by text, and quantities by
// text. Types of one layout are one to a map, whatever they are called.
func equalMaps(t reflect.Type, known map[reflect.Type]*equal) equal {
	switch {
	case t.Key().Kind() != reflect.String:
	case t.Elem().Kind() == reflect.String:
		return equalEntries[string](sameAs[string])
	case t.Elem() == quantityType:
		return equalEntries[resource.Quantity](equalOf(quantityType, known))
	}
	return deepEqual(t)
}

func equalEntries[V any](same equal) equal {
	return func(a, b unsafe.Pointer) bool {
		x, y := *(*map[string]V)(a), *(*map[string]V)(b)
		if (x == nil) != (y == nil) || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !same(unsafe.Pointer(&v), unsafe.Pointer(&w)) {
				return false
			}
		}
		return true
	}
}
