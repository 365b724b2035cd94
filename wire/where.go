package wire

import (
	"fmt"
	"reflect"
)

// where chooses elements of a list: those that have a text under a name.
type where struct {
	name   string
	number int32 // in protobuf
	value  string
}

// in returns the condition for the elements of a list of a type, which the path calls by
// a name.
func (w *where) in(t reflect.Type, list string) (*where, error) {
	if w == nil {
		return nil, nil
	}
	if !isList(t) {
		return nil, fmt.Errorf("%s is a %s and not a list of which one could choose", list, t)
	}
	steps, end, err := stepInto(t, w.name)
	if err != nil {
		return nil, err
	}
	if len(steps) != 1 {
		return nil, fmt.Errorf("elements of %s cannot be chosen by %s, which is inlined in JSON from a message of its own in protobuf", list, w.name)
	}
	if steps[0].entry || end.Kind() != reflect.String {
		return nil, fmt.Errorf("elements of %s cannot be chosen by %s, which is a %s and not a text", list, w.name, end)
	}
	return &where{w.name, steps[0].number, w.value}, nil
}

// inMessage reports whether a field of msg, which ends at end, is an element that is
// chosen. One that cannot be read is not.
func (w *where) inMessage(f *field, msg []byte, end int) bool {
	if f.wire != wireBytes || w.number == 0 {
		return false
	}
	element, is := f.bytes(msg, end), w.value == ""
	for i := 0; i < len(element); {
		text, next, found, ok := nextOf(element, i, w.number)
		if !ok {
			return false
		}
		if found {
			is = string(text) == w.value // of several the last one counts
		}
		i = next
	}
	return is
}

// at reports whether the value at s.i is an element that is chosen. It does not pass it.
func (w *where) at(s *scanner) bool {
	element := scanner{data: s.data, i: s.i}
	if !element.open('{') {
		return false
	}
	is := w.value == ""
	for key, ok := element.member(true); ok; key, ok = element.member(false) {
		if string(key) != w.name || element.space() != '"' {
			element.pass()
			continue
		}
		text, ok := element.text()
		is = ok && string(text) == w.value
	}
	return is && element.msg == ""
}

// Step is one step of a path in JSON, for those who go it in decoded objects.
type Step struct {
	Name string
	// Where, if not empty, chooses elements of the list that the step leads to: those that
	// have the text Is under that name.
	Where, Is string
}

// Steps returns the steps of the path.
func (p Path) Steps() (steps []Step) {
	for _, st := range p.steps {
		s := Step{Name: st.name}
		if st.where != nil {
			s.Where, s.Is = st.where.name, st.where.value
		}
		if st.name != "" { // it is inlined in JSON
			steps = append(steps, s)
		}
	}
	return steps
}
