package wire

// found is what an object has at the end of a path, where it lies.
type found struct {
	there bool
	cut   bool   // the object cannot be read
	wire  uint8  // in protobuf
	n     uint64 // of a number in protobuf
	raw   []byte // of others, and of every value in JSON
}

// find finds the one value at a path that leads through no list, but for what is chosen
// there. If there are several, the last one counts, as for decoders. What cannot be read
// is not there. The zero Path leads nowhere.
func (p Path) find(f Format, raw []byte) (v found) {
	switch {
	case len(p.steps) == 0:
	case f == JSON:
		s := scanner{data: raw}
		s.find(&v, p.steps, nil, 0)
		if s.msg != "" {
			return found{cut: true}
		}
	case f == Protobuf:
		if !findProto(&v, raw, p.steps) {
			return found{cut: true}
		}
	}
	return v
}

// findProto continues with the first of the steps in a message.
func findProto(v *found, msg []byte, steps []step) bool {
	st := &steps[0]
	if st.entry {
		return findEntry(v, msg, steps)
	}
	if st.number == 0 {
		return true // protobuf does not have it
	}
	for i := 0; i < len(msg); {
		f, next := readField(msg, i)
		if next < 0 {
			return false
		}
		i = next
		switch {
		case f.num != st.number, st.where != nil && !st.where.inMessage(&f, msg, next):
		case len(steps) == 1:
			*v = found{there: true, wire: f.wire, n: f.n, raw: f.bytes(msg, next)}
		case f.wire == wireBytes && !findProto(v, f.bytes(msg, next), steps[1:]):
			return false
		}
	}
	return true
}

// findEntry continues in an entry of a map, if it has the right key.
func findEntry(v *found, msg []byte, steps []step) bool {
	var key []byte
	value := found{there: true, wire: wireBytes}
	for i := 0; i < len(msg); {
		f, next := readField(msg, i)
		if next < 0 {
			return false
		}
		i = next
		switch {
		case f.num == 1 && f.wire == wireBytes:
			key = f.bytes(msg, next)
		case f.num == 2:
			value = found{there: true, wire: f.wire, n: f.n, raw: f.bytes(msg, next)}
		}
	}
	switch {
	case string(key) != steps[0].name:
	case len(steps) == 1:
		*v = value
	case value.wire == wireBytes:
		return findProto(v, value.raw, steps[1:])
	}
	return true
}

// find continues with the value at s.i, and passes it. Of a list, elements are chosen.
func (s *scanner) find(v *found, steps []step, chosen *where, depth int) {
	for len(steps) > 0 && steps[0].name == "" {
		steps = steps[1:] // inlined
	}
	switch c := s.space(); {
	case chosen != nil && c == '[' && depth < maxDepth:
		s.open('[')
		for ok := s.element(true); ok; ok = s.element(false) {
			if chosen.at(s) {
				s.find(v, steps, nil, depth+1)
			} else {
				s.pass()
			}
		}
	case chosen != nil, len(steps) > 0 && c != '{':
		s.skip(depth)
	case len(steps) > 0:
		s.open('{')
		for key, ok := s.member(true); ok; key, ok = s.member(false) {
			if string(key) == steps[0].name {
				s.find(v, steps[1:], steps[0].where, depth+1)
			} else {
				s.pass()
			}
		}
	default:
		value := s.span(depth)
		*v = found{there: string(value) != "null", raw: value}
	}
}
