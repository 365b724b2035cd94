package wire

import "bytes"

// Same reports whether two objects, in one format, have the same bytes at the path. For
// objects that one server wrote, that means the same values. Objects that cannot be read
// are not the same.
func (p Path) Same(f Format, a, b []byte) bool {
	switch {
	case len(p.steps) == 0:
		return bytes.Equal(a, b)
	case f == JSON:
		return sameParts(a, b, p.steps, nil, 0)
	case f == Protobuf:
		return sameMessages(a, b, p.steps)
	}
	return false
}

// sameMessages compares what two messages have behind the first of the steps: the values
// of a field one by one, and each with the one at the same place.
func sameMessages(a, b []byte, steps []step) bool {
	if steps[0].number == 0 {
		return false // a path that is not of a type, or to what protobuf does not have
	}
	if len(steps) > 1 && steps[1].entry {
		x, inA, okA := entryOf(a, steps[0].number, steps[1].name)
		y, inB, okB := entryOf(b, steps[0].number, steps[1].name)
		return okA && okB && inA == inB && (len(steps) == 2 && bytes.Equal(x, y) || len(steps) > 2 && sameMessages(x, y, steps[2:]))
	}
	for i, j := 0, 0; ; {
		var x, y []byte
		var inA, inB, ok bool
		if x, i, inA, ok = steps[0].next(a, i); !ok {
			return false
		}
		if y, j, inB, ok = steps[0].next(b, j); !ok {
			return false
		}
		switch {
		case inA != inB:
			return false
		case !inA:
			return true
		case bytes.Equal(x, y):
		case len(steps) == 1 || !sameMessages(x, y, steps[1:]):
			return false
		}
	}
}

// nextOf returns the next value of a field in a message, from an index on, and the index
// after it. ok is false if the message cannot be read.
func nextOf(msg []byte, i int, number int32) (value []byte, next int, found, ok bool) {
	return (&step{number: number}).next(msg, i)
}

// next is nextOf for the values of a step, which chooses among those of its list.
func (st *step) next(msg []byte, i int) (value []byte, next int, found, ok bool) {
	for i < len(msg) {
		f, next := readField(msg, i)
		if next < 0 {
			return nil, 0, false, false
		}
		if f.num == st.number && (st.where == nil || st.where.inMessage(&f, msg, next)) {
			return f.bytes(msg, next), next, true, true
		}
		i = next
	}
	return nil, i, false, true
}

// entryOf returns the value that a map, a field of a message, has under a key.
func entryOf(msg []byte, number int32, key string) (value []byte, found, ok bool) {
	for i := 0; ; {
		entry, next, more, ok := nextOf(msg, i, number)
		if !ok || !more {
			return value, found, ok
		}
		i = next
		k, _, _, okKey := nextOf(entry, 0, 1)
		v, _, _, okValue := nextOf(entry, 0, 2)
		if !okKey || !okValue {
			return nil, false, false
		}
		if string(k) == key {
			value, found = v, true // of several the last one counts
		}
	}
}

// sameParts compares what two values have behind the steps: elements of lists one by one,
// of which some are chosen.
func sameParts(a, b []byte, steps []step, chosen *where, depth int) bool {
	for len(steps) > 0 && steps[0].name == "" {
		steps = steps[1:] // inlined
	}
	if bytes.Equal(a, b) {
		return true
	}
	if len(steps) == 0 && chosen == nil {
		return false
	}
	x, y := scanner{data: a}, scanner{data: b}
	switch c, d := x.space(), y.space(); {
	case depth > maxDepth:
		return false
	case chosen != nil:
		return sameElements(&x, &y, steps, chosen, depth)
	case c == '[' && d == '[':
		return sameElements(&x, &y, steps, nil, depth)
	case c == '[' || d == '[':
		return false
	}
	v, w := memberOf(&x, steps[0].name), memberOf(&y, steps[0].name)
	return x.msg == "" && y.msg == "" && sameParts(v, w, steps[1:], steps[0].where, depth+1)
}

// sameElements compares the elements of two lists. If some are chosen, what is no list
// has none.
func sameElements(x, y *scanner, steps []step, chosen *where, depth int) bool {
	inX, inY := x.open('['), y.open('[')
	for first := true; ; first = false {
		v, moreX := x.nextElement(inX, first, chosen, depth)
		w, moreY := y.nextElement(inY, first, chosen, depth)
		switch {
		case moreX != moreY || x.msg != "" || y.msg != "":
			return false
		case !moreX:
			return true
		case !sameParts(v, w, steps, nil, depth+1):
			return false
		}
	}
}

// nextElement passes the next element of a list that is chosen, and returns it.
func (s *scanner) nextElement(in, first bool, chosen *where, depth int) (value []byte, more bool) {
	for ; in && s.element(first); first = false {
		is := chosen == nil || chosen.at(s)
		if value = s.span(depth); is {
			return value, s.msg == ""
		}
	}
	return nil, false
}

var null = []byte("null")

// memberOf returns the value that an object has under a name: null if it has none, or is
// no object. One that has it twice cannot be read: decoders differ in what they make of
// that.
func memberOf(s *scanner, name string) (value []byte) {
	value = null
	if s.space() != '{' {
		s.skip(0)
		return value
	}
	s.open('{')
	found := false
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		if string(key) == name {
			if found {
				s.fail(s.i, "a name twice")
				return value
			}
			value, found = s.span(0), true
		} else {
			s.pass()
		}
	}
	return value
}

// span passes a value and returns it.
func (s *scanner) span(depth int) []byte {
	s.space()
	start := s.i
	s.skip(depth)
	return s.data[start:s.i]
}
