package unmarshal

import (
	"errors"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Protobuf decodes raw into obj, which must be empty, as obj.Unmarshal(raw) does.
// Nothing of raw is kept.
func Protobuf(raw []byte, obj Message) error {
	v := reflect.ValueOf(obj)
	t := v.Type()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return obj.Unmarshal(raw)
	}
	p := planOf(t.Elem())
	if p == nil {
		return obj.Unmarshal(raw)
	}
	err := with(func(d *decoder) error { return d.message(raw, v.UnsafePointer(), p, 0) })
	if err == errOdd {
		v.Elem().SetZero()
		return obj.Unmarshal(raw)
	}
	return err
}

var (
	// errOdd leaves a message to the generated method.
	errOdd = errors.New("unmarshal: out of the ordinary")
	// errDeep says that messages are nested too deeply: they could be made to fill
	// the stack.
	errDeep = errors.New("unmarshal: messages are nested too deeply")
)

const deepest = 1000

// message decodes a struct at an address.
func (d *decoder) message(b []byte, at unsafe.Pointer, p *plan, depth int) error {
	if p.broken {
		return errOdd
	}
	if depth > deepest {
		return errDeep
	}
	for len(b) > 0 {
		tag, n := varint(b)
		if n == 0 {
			return errOdd
		}
		number, wire := tag>>3, uint8(tag&7)
		if number == 0 || number >= 1<<29 {
			return errOdd
		}
		if number >= uint64(len(p.fields)) || p.fields[number].op == skip {
			size := skipValue(b[n:], wire)
			if size < 0 {
				return errOdd
			}
			b = b[n+size:]
			continue
		}
		f := &p.fields[number]
		var used int
		switch {
		case wire != f.wire:
			return errOdd // packed numbers, or a mistake
		case wire == wireVarint:
			v, size := varint(b[n:])
			if size == 0 {
				return errOdd
			}
			d.store(f, unsafe.Add(at, f.offset), v)
			used = n + size
		default:
			value, size := sized(b[n:])
			if size < 0 {
				return errOdd
			}
			used = n + size
			var more []byte // what follows, for those that count equal fields
			if f.op == opMessageSlice || f.op == opStringSlice || f.op >= opStringMap {
				more = b[used:]
			}
			if err := d.value(f, unsafe.Add(at, f.offset), value, b[:n], more, depth); err != nil {
				return err
			}
		}
		b = b[used:]
	}
	return nil
}

// store stores a number.
func (d *decoder) store(f *field, at unsafe.Pointer, v uint64) {
	switch f.op {
	case opBool:
		*(*bool)(at) = v != 0
	case opBoolPtr:
		x := (*bool)(d.word())
		*x = v != 0
		*(**bool)(at) = x
	case op32:
		*(*uint32)(at) = uint32(v)
	case op32Ptr:
		x := (*uint32)(d.word())
		*x = uint32(v)
		*(**uint32)(at) = x
	case op32Slice:
		*(*[]uint32)(at) = append(*(*[]uint32)(at), uint32(v))
	case op64:
		*(*uint64)(at) = v
	case op64Ptr:
		x := (*uint64)(d.word())
		*x = v
		*(**uint64)(at) = x
	case op64Slice:
		*(*[]uint64)(at) = append(*(*[]uint64)(at), v)
	}
}

// word returns memory for a number that is pointed to. The numbers of one object
// lie together, as they live as long as it does.
func (d *decoder) word() unsafe.Pointer {
	if len(d.numbers) == 0 {
		d.numbers = make([]uint64, 16)
	}
	at := unsafe.Pointer(&d.numbers[0])
	d.numbers = d.numbers[1:]
	return at
}

// value stores what came as a run of bytes.
func (d *decoder) value(f *field, at unsafe.Pointer, b, tag, more []byte, depth int) error {
	switch f.op {
	case opString:
		*(*string)(at) = d.words.text(b)
	case opStringPtr:
		s := d.words.text(b)
		*(**string)(at) = &s
	case opStringSlice:
		s := (*[]string)(at)
		if len(*s) == cap(*s) {
			// Twice as many at least: values may come a few at a time, with others between.
			grown := make([]string, len(*s), max(len(*s)+1+alike(more, tag), 2*len(*s)))
			copy(grown, *s)
			*s = grown
		}
		*s = append(*s, d.words.text(b))
	case opBytes:
		*(*[]byte)(at) = append(make([]byte, 0, len(b)), b...)
	case opMessage:
		return d.message(b, at, f.of, depth+1)
	case opMessagePtr:
		return d.message(b, pointee(f, at), f.of, depth+1)
	case opMessageSlice:
		return d.message(b, extend(f, at, tag, more), f.of, depth+1)
	case opMethod:
		return odd(reflect.NewAt(f.typ, at).Interface().(Message).Unmarshal(b))
	case opMethodPtr:
		return odd(reflect.NewAt(f.typ, pointee(f, at)).Interface().(Message).Unmarshal(b))
	case opMethodSlice:
		last := extend(f, at, nil, nil)
		return odd(reflect.NewAt(f.typ.Elem(), last).Interface().(Message).Unmarshal(b))
	case opTime:
		return decodeTime(b, (*metav1.Time)(at))
	case opTimePtr:
		return decodeTime(b, (*metav1.Time)(pointee(f, at)))
	case opQuantity:
		return odd(d.words.quantity(b, false, (*resource.Quantity)(at)))
	case opQuantityPtr:
		return odd(d.words.quantity(b, false, (*resource.Quantity)(pointee(f, at))))
	case opStringMap:
		return entry(d, at, b, tag, more, mapString)
	case opBytesMap:
		return entry(d, at, b, tag, more, mapBytes)
	case opQuantityMap:
		return entry(d, at, b, tag, more, mapQuantity)
	}
	return nil
}

// odd leaves an error of a part to the generated method of the whole, which returns
// the error that callers expect.
func odd(err error) error {
	if err != nil {
		return errOdd
	}
	return nil
}

// pointee returns what a pointer points to, which is made if it is nil.
func pointee(f *field, at unsafe.Pointer) unsafe.Pointer {
	p := (*unsafe.Pointer)(at)
	if *p == nil {
		*p = reflect.New(f.typ).UnsafePointer()
	}
	return *p
}

// slice is what a slice of any type is in memory.
type slice struct {
	at       unsafe.Pointer
	len, cap int
}

// extend adds an element to a slice and returns its address. The first time, room
// is made for all that follow.
func extend(f *field, at unsafe.Pointer, tag, more []byte) unsafe.Pointer {
	s := (*slice)(at)
	if s.len == s.cap {
		reflect.NewAt(f.typ, at).Elem().Grow(1 + alike(more, tag))
	}
	s.len++
	return unsafe.Add(s.at, uintptr(s.len-1)*f.size)
}

// entry adds an entry to a map. The keys of all maps are strings, whatever they
// are called; types of one layout are one to the map.
func entry[V any](d *decoder, at unsafe.Pointer, b, tag, more []byte, decode func(*decoder, []byte) (V, error)) error {
	var key, value []byte
	for len(b) > 0 {
		if b[0] != 1<<3|wireBytes && b[0] != 2<<3|wireBytes {
			return errOdd
		}
		v, n := sized(b[1:])
		if n < 0 {
			return errOdd
		}
		if b[0] == 1<<3|wireBytes {
			key = v
		} else {
			value = v
		}
		b = b[1+n:]
	}
	v, err := decode(d, value)
	if err != nil {
		return err
	}
	m := (*map[string]V)(at)
	if *m == nil {
		*m = make(map[string]V, 1+alike(more, tag))
	}
	before := len(*m)
	if (*m)[d.words.text(key)] = v; len(*m) == before {
		return errOdd // a key twice: the map was made too large
	}
	return nil
}

func mapString(d *decoder, b []byte) (string, error) { return d.words.text(b), nil }

func mapBytes(_ *decoder, b []byte) ([]byte, error) {
	return append(make([]byte, 0, len(b)), b...), nil
}

func mapQuantity(d *decoder, b []byte) (q resource.Quantity, err error) {
	return q, odd(d.words.quantity(b, false, &q))
}

// alike counts the fields at the start of b that have a tag.
func alike(b, tag []byte) int {
	n := 0
	for len(tag) > 0 && len(b) > len(tag) && string(b[:len(tag)]) == string(tag) {
		_, size := sized(b[len(tag):])
		if size < 0 {
			break
		}
		b = b[len(tag)+size:]
		n++
	}
	return n
}

// decodeTime decodes a time: whole seconds, as JSON has no more.
func decodeTime(b []byte, into *metav1.Time) error {
	var seconds int64
	for rest := b; len(rest) > 0; {
		tag, n := varint(rest)
		if n == 0 || tag != 1<<3|wireVarint && tag != 2<<3|wireVarint {
			return errOdd
		}
		v, size := varint(rest[n:])
		if size == 0 {
			return errOdd
		}
		if tag>>3 == 1 {
			seconds = int64(v)
		}
		rest = rest[n+size:]
	}
	into.Time = time.Time{}
	if len(b) > 0 {
		into.Time = time.Unix(seconds, 0).Local()
	}
	return nil
}

// varint reads a number and returns how many bytes it has, 0 if it has no end.
func varint(b []byte) (v uint64, n int) {
	for shift := uint(0); shift < 64 && n < len(b); shift += 7 {
		c := b[n]
		n++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// sized reads a run of bytes that has its length before it, and returns how many
// bytes both have, -1 if they are not all there.
func sized(b []byte) (value []byte, n int) {
	size, n := varint(b)
	if n == 0 || size > uint64(len(b)-n) {
		return nil, -1
	}
	end := n + int(size)
	return b[n:end], end
}

// skipValue returns how many bytes a value has, -1 if that is not known.
func skipValue(b []byte, wire uint8) int {
	n := -1
	switch wire {
	case wireVarint:
		if _, size := varint(b); size > 0 {
			n = size
		}
	case wire64:
		n = 8
	case wireBytes:
		_, n = sized(b)
	case wire32:
		n = 4
	}
	if n > len(b) {
		return -1
	}
	return n
}
