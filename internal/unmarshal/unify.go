package unmarshal

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Unify gives an object those parts of another one of the same type that are equal to its
// own: what ProtobufNear does with bytes, for objects that were changed since they were
// decoded. As there, maps of strings on the way to what differs are not shared. It writes
// to nothing but the object's struct: what is reached from there, others may have, so that
// on the way to what differs it is copied. It returns about how much memory the object
// has of its own then; ok is false if objects of the type cannot be compared this way.
func Unify(obj, with any) (own int, ok bool) {
	at, other, p := bothOf(obj, with)
	if p == nil {
		return 0, false
	}
	u := unifier{own: int(reflect.TypeOf(obj).Elem().Size())}
	u.message(at, other, p, 0)
	return u.own, true
}

// Same reports whether two objects of one type are equal, whatever kinds they say that
// they are. False may also be said of types that cannot be compared this way.
func Same(a, b any) bool {
	at, other, p := bothOf(a, b)
	return p != nil && p.equal(at, other, 0)
}

// bothOf returns where two objects are, and the plan of their type if they are of one.
func bothOf(a, b any) (at, other unsafe.Pointer, p *plan) {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if !v.IsValid() || !w.IsValid() || v.Type() != w.Type() || v.Kind() != reflect.Pointer ||
		v.Type().Elem().Kind() != reflect.Struct || v.IsNil() || w.IsNil() {
		return nil, nil, nil
	}
	return v.UnsafePointer(), w.UnsafePointer(), planOf(v.Type().Elem())
}

type unifier struct{ own int }

// message unifies the fields of a struct that nobody else has with those of another one.
func (u *unifier) message(at, with unsafe.Pointer, p *plan, depth int) {
	if p.broken || depth > deepest {
		return
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.op != skip {
			u.field(f, unsafe.Add(at, f.offset), unsafe.Add(with, f.offset), depth)
		}
	}
}

// field unifies a field.
func (u *unifier) field(f *field, at, with unsafe.Pointer, depth int) {
	switch f.op {
	case opBool, op32, op64, opTime, opQuantity, opMethod:
		return // copied with the struct
	case opMessage:
		u.message(at, with, f.of, depth+1)
		return
	}
	if f.isNil(at) {
		return
	}
	if f.op != opStringMap && f.equal(at, with, depth) && !f.behind(with) {
		f.share(at, with)
		return
	}
	switch f.op {
	case opString:
		u.own += len(*(*string)(at))
	case opMessagePtr:
		u.own += f.weight()
		if other := *(*unsafe.Pointer)(with); other != nil {
			u.message(u.copyPointer(f, at), other, f.of, depth+1)
		}
	case opMessageSlice:
		s, other := (*slice)(at), *(*slice)(with)
		u.own += s.len * int(f.size)
		u.copySlice(f, s)
		for i := range min(s.len, other.len) {
			n := uintptr(i) * f.size
			u.message(unsafe.Add(s.at, n), unsafe.Add(other.at, n), f.of, depth+1)
		}
	default:
		u.own += f.refers(at)
	}
}

// copyPointer has a field point to a copy, and returns where it is.
func (u *unifier) copyPointer(f *field, at unsafe.Pointer) unsafe.Pointer {
	copied := reflect.New(f.typ)
	copied.Elem().Set(reflect.NewAt(f.typ, *(*unsafe.Pointer)(at)).Elem())
	*(*unsafe.Pointer)(at) = copied.UnsafePointer()
	return copied.UnsafePointer()
}

// copySlice gives a field an array of its own.
func (u *unifier) copySlice(f *field, s *slice) {
	old := reflect.NewAt(f.typ, unsafe.Pointer(s)).Elem()
	copied := reflect.MakeSlice(f.typ, s.len, s.len)
	reflect.Copy(copied, old)
	old.Set(copied)
}

// isNil reports whether a field that refers to memory refers to none.
func (f *field) isNil(at unsafe.Pointer) bool {
	if f.op == opString {
		return *(*string)(at) == ""
	}
	return *(*unsafe.Pointer)(at) == nil // maps, pointers, and slices begin with one
}

// refers is about how much memory a field refers to.
func (f *field) refers(at unsafe.Pointer) int {
	switch f.op {
	case opBytes, opStringSlice, op32Slice, op64Slice, opMethodSlice:
		return (*slice)(at).len * elementSize(f)
	case opStringMap:
		return len(*(*map[string]string)(at)) * f.weight()
	case opBytesMap:
		n := 0
		for _, v := range *(*map[string][]byte)(at) {
			n += len(v) + f.weight()
		}
		return n
	case opQuantityMap:
		return len(*(*map[string]resource.Quantity)(at)) * f.weight()
	}
	return max(f.weight(), 8)
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
