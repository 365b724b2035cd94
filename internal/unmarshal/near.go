package unmarshal

import (
	"bytes"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Near is an object that was decoded before, and the bytes that it was made of.
type Near struct {
	Object Message
	Raw    []byte
	// Sibling: it is another object than the one that is decoded, and not a state of it
	// before. What has a quantity that is not in a map is not shared then, nor maps of
	// strings on the way to what differs, labels and annotations first of all: they are
	// what programs change most often by mistake.
	Sibling bool
}

// ProtobufNear decodes raw into obj, which must be empty, as Protobuf does, with
// the help of an object that is much like it: its own state before, or a sibling. Parts
// whose bytes are the same are not decoded again: the new object shares the old
// one's. So neither may ever be changed. It returns about how much memory the new one has
// of its own.
func ProtobufNear(raw []byte, obj Message, near Near) (own int, err error) {
	v, old := reflect.ValueOf(obj), reflect.ValueOf(near.Object)
	t := v.Type()
	if t != old.Type() || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return inMemory * len(raw), Protobuf(raw, obj)
	}
	p := planOf(t.Elem())
	if p == nil {
		return inMemory * len(raw), obj.Unmarshal(raw)
	}
	err = with(func(d *decoder) error {
		d.own, d.sibling = 0, near.Sibling
		err := d.near(raw, v.UnsafePointer(), part{near.Raw, old.UnsafePointer()}, p, 0)
		own = d.own
		return err
	})
	if err != nil {
		v.Elem().SetZero()
		return inMemory * len(raw), Protobuf(raw, obj)
	}
	return own, nil
}

// inMemory is about how much memory a part takes for each byte that it is decoded from.
const inMemory = 3

// part is a message of the old object: its bytes, and the struct made of them.
type part struct {
	raw []byte
	at  unsafe.Pointer
}

// near decodes a struct at an address, with the help of the old one: it goes through
// the bytes of both. Fields must come in the order of their numbers, as generated
// code writes them, so that what is found of a field is all there is of it.
func (d *decoder) near(b []byte, at unsafe.Pointer, old part, p *plan, depth int) error {
	if p.broken || depth > deepest {
		return errOdd
	}
	now, before := fields{rest: b}, fields{rest: old.raw}
	for before.next(); now.next(); {
		for before.number != 0 && before.number < now.number {
			before.next()
		}
		if now.number >= uint64(len(p.fields)) || p.fields[now.number].op == skip {
			continue
		}
		f := &p.fields[now.number]
		if now.wire != f.wire || now.count > 1 && !f.op.repeats() {
			return errOdd
		}
		var err error
		to, from := unsafe.Add(at, f.offset), unsafe.Add(old.at, f.offset)
		switch known := before.number == now.number && before.wire == now.wire && f.op.made(from, before.count); {
		case known && bytes.Equal(now.run, before.run) && !(d.sibling && (f.op == opStringMap || f.behind(from))):
			f.share(to, from)
		case known && f.op == opMessage:
			err = d.near(now.value(), to, part{before.value(), from}, f.of, depth+1)
		case known && f.op == opMessagePtr:
			err = d.near(now.value(), pointee(f, to), part{before.value(), *(*unsafe.Pointer)(from)}, f.of, depth+1)
		case known && f.op == opMessageSlice:
			err = d.nearSlice(f, to, now, before, (*slice)(from).at, depth)
		default:
			d.own += inMemory*len(now.run) + now.count*f.weight()
			err = d.message(now.run, at, p, depth)
		}
		if err != nil {
			return err
		}
	}
	for before.next() { // is the rest in order, too?
	}
	if now.bad || before.bad {
		return errOdd
	}
	return nil
}

// nearSlice decodes the elements of a slice, each with the help of the old element at
// the same index.
func (d *decoder) nearSlice(f *field, to unsafe.Pointer, now, before fields, old unsafe.Pointer, depth int) error {
	reflect.NewAt(f.typ, to).Elem().Grow(now.count)
	d.own += now.count * int(f.size)
	s := (*slice)(to)
	s.len = now.count
	elem := f.typ.Elem()
	for i := range now.count {
		value := now.pop()
		at := unsafe.Add(s.at, uintptr(i)*f.size)
		if i >= before.count {
			d.own += inMemory * len(value)
			if err := d.message(value, at, f.of, depth+1); err != nil {
				return err
			}
			continue
		}
		was := part{before.pop(), unsafe.Add(old, uintptr(i)*f.size)}
		if bytes.Equal(value, was.raw) && !(d.sibling && f.of.behind(was.at)) {
			assign(elem, at, was.at)
		} else if err := d.near(value, at, was, f.of, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// weight is about what a value takes beside what it is decoded from.
func (f *field) weight() int {
	switch f.op {
	case opMessageSlice, opMethodSlice:
		return int(f.size)
	case opMessagePtr, opMethodPtr:
		return int(f.typ.Size())
	case opStringMap, opBytesMap:
		return 40
	case opQuantityMap:
		return 100
	}
	return 0
}

// repeats reports whether a field may have more than one value.
func (o op) repeats() bool {
	switch o {
	case opStringSlice, op32Slice, op64Slice, opMessageSlice, opMethodSlice, opStringMap, opBytesMap, opQuantityMap:
		return true
	}
	return false
}

// made reports whether what is at an address can have been made of so many values.
func (o op) made(at unsafe.Pointer, values int) bool {
	switch o {
	case opStringSlice, op32Slice, op64Slice, opMessageSlice, opMethodSlice:
		return (*slice)(at).len == values
	case opStringMap:
		return len(*(*map[string]string)(at)) == values
	case opBytesMap:
		return len(*(*map[string][]byte)(at)) == values
	case opQuantityMap:
		return len(*(*map[string]resource.Quantity)(at)) == values
	case opStringPtr, opBoolPtr, op32Ptr, op64Ptr, opMessagePtr, opMethodPtr, opTimePtr, opQuantityPtr:
		return values == 1 && *(*unsafe.Pointer)(at) != nil
	}
	return values == 1
}

// share gives a field of the new object the value that the old one has.
func (f *field) share(to, from unsafe.Pointer) {
	switch f.op {
	case opString:
		*(*string)(to) = *(*string)(from)
	case opBool:
		*(*bool)(to) = *(*bool)(from)
	case op32:
		*(*uint32)(to) = *(*uint32)(from)
	case op64:
		*(*uint64)(to) = *(*uint64)(from)
	case opBytes, opStringSlice, op32Slice, op64Slice, opMessageSlice, opMethodSlice:
		s := *(*slice)(from)
		s.cap = s.len // an append allocates its own memory
		*(*slice)(to) = s
	case opMessage, opMethod, opTime, opQuantity:
		assign(f.typ, to, from)
	default: // pointers and maps
		*(*unsafe.Pointer)(to) = *(*unsafe.Pointer)(from)
	}
}

// assign copies a value of a type.
func assign(t reflect.Type, to, from unsafe.Pointer) {
	reflect.NewAt(t, to).Elem().Set(reflect.NewAt(t, from).Elem())
}

// fields goes through a message, one field at a time with all of its values.
type fields struct {
	rest []byte

	number uint64 // of the present field; 0 at the end
	wire   uint8
	tag    int    // the size of its tag
	count  int    // of its values
	run    []byte // the values, each with its tag
	last   uint64 // the number before
	bad    bool   // it is no message, or its fields are out of order
}

// next goes to the next field and reports whether there is one.
func (f *fields) next() bool {
	f.last, f.number = max(f.last, f.number), 0
	b := f.rest
	if len(b) == 0 || f.bad {
		return false
	}
	tag, n := varint(b)
	f.bad = true
	if n == 0 || tag>>3 <= f.last || tag>>3 >= 1<<29 {
		return false
	}
	used := 0
	for f.count = 0; ; f.count++ {
		if f.count > 0 && (len(b)-used < n || !bytes.Equal(b[used:used+n], b[:n])) {
			break
		}
		size := skipValue(b[used+n:], uint8(tag&7))
		if size < 0 {
			return false
		}
		used += n + size
	}
	f.bad = false
	f.number, f.wire, f.tag = tag>>3, uint8(tag&7), n
	f.run, f.rest = b[:used], b[used:]
	return true
}

// value returns the first of the present values, which are runs of bytes.
func (f *fields) value() []byte {
	value, _ := sized(f.run[f.tag:])
	return value
}

// pop takes the first of the values off.
func (f *fields) pop() []byte {
	value, size := sized(f.run[f.tag:])
	f.run = f.run[f.tag+size:]
	return value
}
