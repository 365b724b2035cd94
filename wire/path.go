package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kinform/kinform/internal/near"
)

// Path leads to fields of an object whose values are read from its bytes, without
// decoding the rest. It is written as in kubectl's JSONPath, without the braces:
//
//	spec.nodeName
//	metadata.ownerReferences.uid                    each element of a list
//	metadata.labels['app.kubernetes.io/name']       a key of a map
//	status.conditions[?(@.type=="Ready")].status    elements of a list that have a text
type Path struct {
	text  string
	steps []step
	plain bool // it ends at a value that is no pointer, of which zero stands for none
	many  bool // it ends at a list or a map
}

// step is one step of a path. In protobuf, fields that are inlined in JSON have their
// own message: a step with a number and no name.
type step struct {
	name   string
	number int32
	entry  bool   // name is the key of a map
	where  *where // which elements of the list that it leads to; nil: all
	leaf   leaf   // how a value is written in protobuf, at the last step
	noZero bool   // numbers and booleans that are zero are no values, at the last step
}

// leaf is how a value is written in protobuf; 0 if that is not known.
type leaf uint8

const (
	leafText leaf = iota + 1
	leafBool
	leafInt
	leafUint
	leafTime
	leafMicroTime
	leafQuantity
	leafIntOrString
)

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// InProtobuf reports whether the path can be used on protobuf: that has no kind and no
// apiVersion, and a path that was made without a type does not know the rest.
func (p Path) InProtobuf() bool {
	for i := range p.steps {
		if p.steps[i].number == 0 && !p.steps[i].entry {
			return false
		}
	}
	return true
}

// ParsePath reads a path. With the type of the objects it is checked and can be
// used on protobuf; for objects of no type, t is nil, and it can be used on JSON.
func ParsePath(text string, t reflect.Type) (Path, error) {
	p, way, err := parsePath(text, t)
	if err != nil || way.end == nil {
		return p, err
	}
	last := &p.steps[len(p.steps)-1]
	if last.leaf = leafOf(way.end); last.leaf == 0 {
		return Path{}, fmt.Errorf("path %q ends at a %s: it has to end at a text, a number or a boolean", text, way.end)
	}
	return p, nil
}

// ParsePart reads a path that may also end at a struct, a list or a map: "spec", or
// "metadata.labels". As ParsePath, but for Same and Has alone.
func ParsePart(text string, t reflect.Type) (Path, error) {
	p, _, err := parsePath(text, t)
	return p, err
}

// stepInto returns the steps from a type to what it has under a name, and the type
// of that. Lists and pointers are passed through. The type may be embedded in others, which
// it may embed again.
func stepInto(t reflect.Type, name string, inside ...reflect.Type) ([]step, reflect.Type, error) {
	t = element(t)
	inside = append(slices.Clip(inside), t)
	switch {
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return []step{{name: name, entry: true}}, t.Elem(), nil
	case t.Kind() != reflect.Struct:
		return nil, nil, fmt.Errorf("a %s has no fields, so no %q", t, name)
	}
	for sf := range t.Fields() {
		number := numberOf(sf)
		jsonName, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case jsonName == name:
			return []step{{name: name, number: number}}, sf.Type, nil
		case sf.Anonymous && jsonName == "" && (options == "inline" || sf.Tag.Get("json") == ""):
			if slices.Contains(inside, element(sf.Type)) {
				continue
			}
			steps, next, err := stepInto(sf.Type, name, inside...)
			if err != nil {
				continue
			}
			if number != 0 {
				return append([]step{{number: number}}, steps...), next, nil
			}
			for i := range steps {
				steps[i].number = 0 // it is not a part of the message: the kind is not
			}
			return steps, next, nil
		}
	}
	return nil, nil, fmt.Errorf("%s has no field %q%s", t, name, near.Hint(name, namesOf(t)))
}

// element returns what a pointer points to and what a list lists.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// numberOf returns a field's number in protobuf, 0 if it has none.
func numberOf(sf reflect.StructField) int32 {
	parts := strings.Split(sf.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func leafOf(t reflect.Type) leaf {
	_, ownMessage := reflect.New(t).Interface().(interface{ Unmarshal([]byte) error })
	if ownMessage || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return 0 // in protobuf it is something else than in JSON
	}
	switch element(t).Kind() {
	case reflect.String:
		return leafText
	case reflect.Bool:
		return leafBool
	case reflect.Int, reflect.Int32, reflect.Int64:
		return leafInt
	case reflect.Uint32, reflect.Uint64:
		return leafUint
	}
	return 0
}

// Values appends the values that an object has at the path. An empty text is no
// value. What JSON has at the path and is neither text, number nor boolean is none
// either.
func (p Path) Values(dst []string, f Format, raw []byte) ([]string, error) {
	switch {
	case len(p.steps) == 0:
		return dst, nil
	case f == JSON:
		return p.valuesJSON(dst, raw)
	case f == Protobuf:
		dst, ok := protoValues(dst, raw, p.steps)
		if !ok {
			return dst, protoError(0, "malformed or cut field on the way to "+p.text)
		}
		return dst, nil
	default:
		return dst, unknownFormat(f)
	}
}

// protoValues continues with the first of the steps in a message.
func protoValues(dst []string, msg []byte, steps []step) ([]string, bool) {
	st := &steps[0]
	if st.entry {
		return protoEntry(dst, msg, steps)
	}
	for i := 0; i < len(msg); {
		f, next := readField(msg, i)
		if next < 0 {
			return dst, false
		}
		i = next
		if f.num != st.number || st.where != nil && !st.where.inMessage(&f, msg, next) {
			continue
		}
		ok := true
		switch {
		case len(steps) == 1:
			dst = protoLeaf(dst, st, &f, msg, next)
		case f.wire == wireBytes:
			dst, ok = protoValues(dst, f.bytes(msg, next), steps[1:])
		}
		if !ok {
			return dst, false
		}
	}
	return dst, true
}

// protoEntry continues in an entry of a map, if it has the right key.
func protoEntry(dst []string, msg []byte, steps []step) ([]string, bool) {
	var key []byte
	for i := 0; i < len(msg); {
		f, next := readField(msg, i)
		if next < 0 {
			return dst, false
		}
		i = next
		switch {
		case f.num == 1 && f.wire == wireBytes:
			key = f.bytes(msg, next)
		case f.num != 2 || string(key) != steps[0].name:
		case len(steps) == 1:
			dst = protoLeaf(dst, &steps[0], &f, msg, next)
		case f.wire == wireBytes:
			var ok bool
			if dst, ok = protoValues(dst, f.bytes(msg, next), steps[1:]); !ok {
				return dst, false
			}
		}
	}
	return dst, true
}

func protoLeaf(dst []string, st *step, f *field, msg []byte, end int) []string {
	switch {
	case f.wire == wireBytes:
		if text, ok := textOf(st.leaf, f.bytes(msg, end)); ok && text != "" {
			dst = append(dst, text)
		}
	case f.wire != wireVarint, st.noZero && f.n == 0:
	case st.leaf == leafBool:
		dst = append(dst, strconv.FormatBool(f.n != 0))
	case st.leaf == leafInt:
		dst = append(dst, strconv.FormatInt(int64(f.n), 10))
	case st.leaf == leafUint:
		dst = append(dst, strconv.FormatUint(f.n, 10))
	}
	return dst
}

func (p Path) valuesJSON(dst []string, raw []byte) ([]string, error) {
	s := scanner{data: raw}
	s.space()
	dst = p.jsonValues(dst, &s, p.steps, nil, 0)
	return dst, s.err(0)
}

// jsonValues continues with the value at s.i, and passes it. If that is a list, its
// elements are chosen.
func (p Path) jsonValues(dst []string, s *scanner, steps []step, chosen *where, depth int) []string {
	for len(steps) > 0 && steps[0].name == "" {
		steps = steps[1:] // inlined
	}
	switch c := s.space(); {
	case c != '[' && chosen != nil:
		s.skip(depth)
	case c == '[' && depth < maxDepth:
		s.open('[')
		for ok := s.element(true); ok; ok = s.element(false) {
			if chosen != nil && !chosen.at(s) {
				s.skip(depth)
				continue
			}
			dst = p.jsonValues(dst, s, steps, nil, depth+1)
		}
	case c == '{' && len(steps) > 0:
		s.open('{')
		for key, ok := s.member(true); ok; key, ok = s.member(false) {
			if string(key) == steps[0].name {
				dst = p.jsonValues(dst, s, steps[1:], steps[0].where, depth+1)
			} else {
				s.pass()
			}
		}
	case len(steps) > 0 || c == '{':
		s.skip(depth)
	default:
		dst = jsonLeaf(dst, s, p.steps[len(p.steps)-1].noZero, depth)
	}
	return dst
}

func jsonLeaf(dst []string, s *scanner, noZero bool, depth int) []string {
	if s.space() == '"' {
		if text, ok := s.text(); ok && len(text) > 0 {
			dst = append(dst, string(text))
		}
		return dst
	}
	start := s.i
	s.skip(depth)
	value := s.data[start:s.i]
	if s.msg != "" || string(value) == "null" || noZero && (string(value) == "0" || string(value) == "false") {
		return dst
	}
	return append(dst, string(value))
}
