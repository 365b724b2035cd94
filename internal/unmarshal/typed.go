package unmarshal

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
)

// JSONInto decodes raw into obj, a pointer to a struct that is empty, as
// sigs.k8s.io/json does with exact names of fields. Nothing of raw is kept.
func JSONInto(raw []byte, obj any) error {
	v := reflect.ValueOf(obj)
	if v.Kind() == reflect.Pointer && !v.IsNil() && len(raw) <= math.MaxInt32 {
		if s := shapeOf(v.Type().Elem()); s.kind == shapeStruct {
			if with(func(d *decoder) error { return d.whole(raw, s, v.UnsafePointer()) }) == nil {
				return nil
			}
			v.Elem().SetZero()
		}
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(append([]byte(nil), raw...), obj)
}

// whole reads a document into a struct.
func (d *decoder) whole(raw []byte, s *shape, at unsafe.Pointer) error {
	defer func() { d.doc = nil }()
	if err := d.survey(raw); err != nil {
		return err
	}
	_, err := d.read(s, at, space(raw))
	d.values, d.entries = d.values[:0], d.entries[:0] // an error may have left something there
	return err
}

// read reads a value into empty memory of a type and returns what follows it. The
// syntax was checked.
func (d *decoder) read(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	if s.kind <= shapeCopies {
		return d.byMethod(s, at, b)
	}
	if b[0] == 'n' {
		return b[len("null"):], nil // whatever the type: it stays as it is
	}
	switch s.kind {
	case shapeStruct:
		return d.readStruct(s, at, b)
	case shapeSlice:
		return d.readSlice(s, at, b)
	case shapeMap:
		return d.readMap(s, at, b)
	case shapeStrings:
		return readEntries(d, at, b, (*decoder).readString)
	case shapeQuantities:
		return readEntries(d, at, b, (*decoder).readQuantity)
	case shapeQuantity:
		return d.readQuantity((*resource.Quantity)(at), b)
	case shapePointer:
		to := d.room(s.elem)
		*(*unsafe.Pointer)(at) = to
		return d.read(s.elem, to, b)
	case shapeAny:
		return d.readAny(at, b)
	case shapeString:
		return d.readString((*string)(at), b)
	case shapeBool:
		if b[0] != 't' && b[0] != 'f' {
			return nil, errOdd
		}
		*(*bool)(at) = b[0] == 't'
		return d.skip(b)
	case shapeInt, shapeUint, shapeFloat:
		return readNumber(s, at, b)
	case shapeIntOrString:
		return d.readIntOrString((*intstr.IntOrString)(at), b)
	}
	return d.readText(s, at, b)
}

// readText is read for types that are written as strings.
func (d *decoder) readText(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	if b[0] != '"' {
		return nil, errOdd
	}
	text, rest, err := d.quoted(b)
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case shapeBytes:
		into := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(into, text)
		if err != nil {
			return nil, errOdd
		}
		*(*[]byte)(at) = into[:n]
	case shapeTime:
		t, err := time.Parse(time.RFC3339, d.words.text(text))
		if err != nil {
			return nil, errOdd
		}
		(*metav1.Time)(at).Time = t.Local()
	default:
		return nil, errOdd
	}
	return rest, nil
}

func (d *decoder) readIntOrString(into *intstr.IntOrString, b []byte) (rest []byte, err error) {
	if b[0] == '"' {
		text, rest, err := d.quoted(b)
		if err != nil {
			return nil, err
		}
		*into = intstr.IntOrString{Type: intstr.String, StrVal: d.words.text(text)}
		return rest, nil
	}
	n, whole := numeral(b)
	if n == 0 || !whole {
		return nil, errOdd
	}
	v, err := strconv.ParseInt(string(b[:n]), 10, 32)
	if err != nil {
		return nil, errOdd
	}
	into.IntVal = int32(v)
	return b[n:], nil
}

// byMethod reads a value by the type's own method, or leaves it to sigs.k8s.io/json.
func (d *decoder) byMethod(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	if rest, err = d.skip(b); err != nil {
		return nil, err
	}
	value := b[:len(b)-len(rest)]
	if s.kind != shapeCopies {
		value = append([]byte(nil), value...)
	}
	into := reflect.NewAt(s.typ, at).Interface()
	if s.kind == shapeOther {
		err = kjson.UnmarshalCaseSensitivePreserveInts(value, into)
	} else {
		err = into.(json.Unmarshaler).UnmarshalJSON(value)
	}
	return rest, odd(err)
}

// room returns memory for what is pointed to.
func (d *decoder) room(s *shape) unsafe.Pointer {
	switch s.kind {
	case shapeBool, shapeInt, shapeUint, shapeFloat:
		return d.word()
	}
	return reflect.New(s.typ).UnsafePointer()
}

// find returns which field has a name, -1 if none has. Encoders write fields in their
// order, so that mostly it is the one that is expected.
func (s *shape) find(name []byte, expected int) int {
	if expected < len(s.fields) && s.fields[expected].name == string(name) {
		return expected
	}
	if i, ok := s.byName[string(name)]; ok {
		return i
	}
	return -1
}

func (d *decoder) readStruct(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	if b[0] != '{' {
		return nil, errOdd
	}
	var seen [mostFields / 64]uint64
	p, i := d.enter(), -1
	for range p.count {
		var name []byte
		if name, b, err = d.quoted(space(b[1:])); err != nil {
			return nil, err
		}
		b = space(space(b)[1:]) // after the colon
		before := i
		if i = s.find(name, before+1); i < 0 {
			i = before
			b, err = d.skip(b)
		} else {
			if seen[i/64]&(1<<(i%64)) != 0 {
				return nil, errOdd // twice: the second adds to the first
			}
			seen[i/64] |= 1 << (i % 64)
			b, err = d.read(s.fields[i].of, unsafe.Add(at, s.fields[i].offset), b)
		}
		if err != nil {
			return nil, err
		}
		b = space(b) // which begins with a comma, or the end
	}
	return d.doc[p.end:], nil
}

func (d *decoder) readSlice(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	if b[0] != '[' {
		return nil, errOdd
	}
	p := d.enter()
	if p.count == 0 {
		*(*[]struct{})(at) = []struct{}{} // not nil
		return d.doc[p.end:], nil
	}
	all := (*slice)(at)
	if s.elem.kind == shapeString {
		*(*[]string)(at) = make([]string, p.count)
	} else {
		reflect.NewAt(s.typ, at).Elem().Grow(int(p.count))
		all.len = int(p.count)
	}
	for i := range uintptr(p.count) {
		if b, err = d.read(s.elem, unsafe.Add(all.at, i*s.size), space(b[1:])); err != nil {
			return nil, err
		}
		b = space(b)
	}
	return d.doc[p.end:], nil
}

// readMap reads a map whose keys are strings, whatever they are called.
func (d *decoder) readMap(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	if b[0] != '{' {
		return nil, errOdd
	}
	p := d.enter()
	m := reflect.MakeMapWithSize(s.typ, int(p.count))
	key, value := reflect.New(s.typ.Key()).Elem(), reflect.New(s.elem.typ)
	for range p.count {
		var name []byte
		if name, b, err = d.quoted(space(b[1:])); err != nil {
			return nil, err
		}
		key.SetString(d.words.text(name))
		value.Elem().SetZero()
		if b, err = d.read(s.elem, value.UnsafePointer(), space(space(b)[1:])); err != nil {
			return nil, err
		}
		m.SetMapIndex(key, value.Elem())
		b = space(b)
	}
	reflect.NewAt(s.typ, at).Elem().Set(m)
	return d.doc[p.end:], nil
}

// readEntries is readMap for values of a known type. Types of one layout are one to
// the map.
func readEntries[V any](d *decoder, at unsafe.Pointer, b []byte, read func(*decoder, *V, []byte) ([]byte, error)) (rest []byte, err error) {
	if b[0] != '{' {
		return nil, errOdd
	}
	p := d.enter()
	m := make(map[string]V, p.count)
	var value, zero V
	for range p.count {
		var text []byte
		if text, b, err = d.quoted(space(b[1:])); err != nil {
			return nil, err
		}
		key := d.words.text(text)
		value = zero
		if b = space(space(b)[1:]); b[0] == 'n' {
			b = b[len("null"):]
		} else if b, err = read(d, &value, b); err != nil {
			return nil, err
		}
		m[key] = value
		b = space(b)
	}
	*(*map[string]V)(at) = m
	return d.doc[p.end:], nil
}

func (d *decoder) readString(into *string, b []byte) (rest []byte, err error) {
	if b[0] != '"' {
		return nil, errOdd
	}
	text, rest, err := d.quoted(b)
	if err == nil {
		*into = d.words.text(text)
	}
	return rest, err
}

func (d *decoder) readQuantity(into *resource.Quantity, b []byte) (rest []byte, err error) {
	if rest, err = d.skip(b); err != nil {
		return nil, err
	}
	return rest, odd(d.words.quantity(b[:len(b)-len(rest)], true, into))
}

func (d *decoder) readAny(at unsafe.Pointer, b []byte) (rest []byte, err error) {
	v, _, err := d.any(b, 0)
	if err != nil {
		return nil, err
	}
	*(*any)(at) = v
	return d.skip(b)
}

// readNumber reads a number into a type of any size.
func readNumber(s *shape, at unsafe.Pointer, b []byte) (rest []byte, err error) {
	n, whole := numeral(b)
	if n == 0 || !whole && s.kind != shapeFloat {
		return nil, errOdd
	}
	bits := 8 * int(s.typ.Size())
	switch s.kind {
	case shapeInt:
		v, err := strconv.ParseInt(string(b[:n]), 10, bits)
		if err != nil {
			return nil, errOdd
		}
		storeWhole(at, bits, uint64(v))
	case shapeUint:
		v, err := strconv.ParseUint(string(b[:n]), 10, bits)
		if err != nil {
			return nil, errOdd
		}
		storeWhole(at, bits, v)
	default:
		v, err := strconv.ParseFloat(string(b[:n]), bits)
		if err != nil {
			return nil, errOdd
		}
		if bits == 32 {
			*(*float32)(at) = float32(v)
		} else {
			*(*float64)(at) = v
		}
	}
	return b[n:], nil
}

// storeWhole stores a whole number of a size.
func storeWhole(at unsafe.Pointer, bits int, v uint64) {
	switch bits {
	case 8:
		*(*uint8)(at) = uint8(v)
	case 16:
		*(*uint16)(at) = uint16(v)
	case 32:
		*(*uint32)(at) = uint32(v)
	default:
		*(*uint64)(at) = v
	}
}
