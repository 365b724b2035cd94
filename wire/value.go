package wire

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kind is what a value is read as.
type Kind uint8

// The kinds of values.
const (
	Text   Kind = iota + 1 // a string; also quantities, and numbers that may be texts
	Number                 // an int64
	Bool
	Time
	Map // texts by their keys
	// Texts are every text, number and boolean at the path, of all elements of lists. Zero
	// is none if it is of a Go type and no pointer.
	Texts
)

var kindNames = [...]string{Text: "a string", Number: "an int64", Bool: "a bool", Time: "a time.Time",
	Map: "a map[string]string", Texts: "a []string"}

// String returns what the kind is in Go.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "nothing"
	}
	return kindNames[k]
}

// ParseValue reads a path to a value of a kind, for the method of that name. As
// ParsePath, otherwise. The error says what else the value can be read as.
func ParseValue(text string, t reflect.Type, kind Kind) (Path, error) {
	p, w, err := parsePath(text, t)
	if err != nil || w.end == nil {
		return p, err
	}
	can, leaf := kindOf(w.end)
	switch {
	case kind == Texts && can != 0 && can != Map && can != Time:
	case w.list != "":
		return Path{}, fmt.Errorf("path %q leads through the list %s, so it is read as %s, or needs a condition such as %s[?(@.name==\"…\")]",
			text, w.list, Texts, w.list)
	case can == 0:
		return Path{}, fmt.Errorf("path %q ends at a %s, which cannot be read on its own", text, w.end)
	case can != kind:
		return Path{}, fmt.Errorf("path %q ends at a %s, which is read as %s and not as %s", text, w.end, can, kind)
	}
	last := &p.steps[len(p.steps)-1]
	last.leaf, last.noZero = leaf, p.plain
	return p, nil
}

var leaves = map[reflect.Type]leaf{
	reflect.TypeFor[metav1.Time]():        leafTime,
	reflect.TypeFor[metav1.MicroTime]():   leafMicroTime,
	reflect.TypeFor[resource.Quantity]():  leafQuantity,
	reflect.TypeFor[intstr.IntOrString](): leafIntOrString,
}

// kindOf returns what values of a type are read as, and how they are written in
// protobuf; of maps, their values.
func kindOf(t reflect.Type) (Kind, leaf) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	l := leaves[t]
	if l == 0 {
		l = leafOf(t)
	}
	switch {
	case l == leafTime || l == leafMicroTime:
		return Time, l
	case l != 0 && t.Kind() == reflect.Slice:
		return Texts, l
	case l == leafText || l == leafQuantity || l == leafIntOrString:
		return Text, l
	case l == leafInt || l == leafUint && t.Bits() < 64:
		return Number, l
	case l == leafBool:
		return Bool, l
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		if kind, l := kindOf(t.Elem()); kind == Text {
			return Map, l
		}
	}
	return 0, 0
}

// Text returns the text at the path, and whether there is one. Quantities are as the
// server wrote them. An empty text is one where the Go type has a pointer, in a map, and
// in objects of no type.
func (p Path) Text(f Format, raw []byte) (text string, found bool) {
	v := p.find(f, raw)
	switch {
	case !v.there:
		return "", false
	case f == JSON:
		text, found = jsonText(v.raw, p.leaf() != leafText)
	case v.wire == wireBytes:
		text, found = textOf(p.leaf(), v.raw)
	}
	return text, found && !(p.plain && text == "")
}

// Is reports whether the text at the path is a given one, where none is as an empty one.
// Unlike Text it allocates nothing. It is not ok if the object cannot be read.
func (p Path) Is(f Format, raw []byte, text string) (is, ok bool) {
	v := p.find(f, raw)
	var value []byte
	switch {
	case v.cut:
		return false, false
	case !v.there:
	case f == JSON:
		if s := (scanner{data: v.raw}); s.space() == '"' {
			if value, ok = s.text(); !ok {
				return false, false
			}
		}
	case v.wire == wireBytes && p.leaf() == leafText:
		value = v.raw
	}
	return string(value) == text, true
}

// Number returns the whole number at the path, and whether there is one. Zero is one
// as an empty text is.
func (p Path) Number(f Format, raw []byte) (n int64, found bool) {
	v := p.find(f, raw)
	switch {
	case !v.there:
		return 0, false
	case f == JSON:
		if end := skipNumber(v.raw, 0); end == len(v.raw) {
			n, found = parseInt(v.raw)
		}
	case v.wire == wireVarint:
		n, found = int64(v.n), true
	}
	return n, found && !(p.plain && n == 0)
}

// Bool returns the boolean at the path, and whether there is one. False is one as an
// empty text is.
func (p Path) Bool(f Format, raw []byte) (is, found bool) {
	v := p.find(f, raw)
	switch {
	case !v.there:
		return false, false
	case f == JSON:
		is = string(v.raw) == "true"
		found = is || string(v.raw) == "false"
	case v.wire == wireVarint:
		is, found = v.n != 0, true
	}
	return is, found && !(p.plain && !is)
}

// Time returns the time at the path, and whether there is one. The zero time is none.
func (p Path) Time(f Format, raw []byte) (t time.Time, found bool) {
	v := p.find(f, raw)
	switch {
	case !v.there:
		return time.Time{}, false
	case f == JSON:
		t, found = jsonTime(v.raw)
	case v.wire == wireBytes:
		t, found = timeOf(p.leaf(), v.raw)
	}
	return t, found && !t.IsZero()
}

// leaf is how the value at the end of the path is written; 0 for objects of no type.
func (p Path) leaf() leaf { return p.steps[len(p.steps)-1].leaf }

// textOf returns the text of a value in protobuf.
func textOf(kind leaf, value []byte) (string, bool) {
	switch kind {
	case leafText:
		return string(value), true
	case leafQuantity:
		text, _, _, ok := nextOf(value, 0, 1)
		return string(text), ok
	case leafIntOrString:
		return intOrString(value)
	}
	return "", false
}

// intOrString reads a message with a type, a number and a text.
func intOrString(value []byte) (string, bool) {
	var isText bool
	var number int64
	var text []byte
	for i := 0; i < len(value); {
		f, next := readField(value, i)
		if next < 0 {
			return "", false
		}
		switch {
		case f.num == 1 && f.wire == wireVarint:
			isText = f.n == uint64(intstr.String)
		case f.num == 2 && f.wire == wireVarint:
			number = int64(f.n)
		case f.num == 3 && f.wire == wireBytes:
			text = f.bytes(value, next)
		}
		i = next
	}
	if isText {
		return string(text), true
	}
	return fmt.Sprint(number), true
}

// jsonText returns the text of a value in JSON, also of a number if it may be one.
func jsonText(value []byte, orNumber bool) (string, bool) {
	s := scanner{data: value}
	if s.space() == '"' {
		text, ok := s.text()
		return string(text), ok
	}
	if orNumber && skipNumber(value, 0) == len(value) {
		return string(value), true
	}
	return "", false
}

// jsonTime reads a time as metav1.Time does.
func jsonTime(value []byte) (t time.Time, ok bool) {
	s := scanner{data: value}
	if s.space() != '"' {
		return t, false
	}
	text, ok := s.text()
	if !ok {
		return t, false
	}
	err := t.UnmarshalText(text)
	if err != nil { // it is stricter
		t, err = time.Parse(time.RFC3339, string(text))
	}
	return t.Local(), err == nil
}

// timeOf reads a time as metav1.Time and metav1.MicroTime do.
func timeOf(kind leaf, value []byte) (time.Time, bool) {
	if len(value) == 0 {
		return time.Time{}, false
	}
	var seconds, nanos int64
	for i := 0; i < len(value); {
		f, next := readField(value, i)
		switch {
		case next < 0:
			return time.Time{}, false
		case f.num == 1 && f.wire == wireVarint:
			seconds = int64(f.n)
		case f.num == 2 && f.wire == wireVarint:
			nanos = int64(int32(f.n))
		}
		i = next
	}
	if kind == leafTime {
		nanos = 0 // there are none in JSON, so they do not count
	}
	return time.Unix(seconds, nanos-nanos%1000).Local(), true
}
