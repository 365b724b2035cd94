package wire

// Map returns the texts that an object has at the path, by their keys; nil if there are
// none.
func (p Path) Map(f Format, raw []byte) map[string]string {
	switch {
	case len(p.steps) == 0:
	case f == JSON:
		v := p.find(f, raw)
		return jsonMap(v.raw, p.leaf() != leafText)
	case f == Protobuf:
		if before := p.steps[:len(p.steps)-1]; len(before) > 0 {
			var v found
			if !findProto(&v, raw, before) || v.wire != wireBytes {
				return nil
			}
			raw = v.raw
		}
		return protoMap(raw, &p.steps[len(p.steps)-1])
	}
	return nil
}

// protoMap reads a field of a message, which is a map.
func protoMap(msg []byte, st *step) map[string]string {
	var all map[string]string
	for i := 0; ; {
		entry, next, more, ok := st.next(msg, i)
		if !ok || !more {
			return all
		}
		i = next
		key, _, _, okKey := nextOf(entry, 0, 1)
		value, _, _, okValue := nextOf(entry, 0, 2)
		text, okText := textOf(st.leaf, value)
		if !okKey || !okValue || !okText {
			return nil
		}
		if all == nil {
			all = map[string]string{}
		}
		all[string(key)] = text
	}
}

// jsonMap reads an object. What is no text is left out.
func jsonMap(value []byte, orNumbers bool) map[string]string {
	s := scanner{data: value}
	if !s.open('{') {
		return nil
	}
	var all map[string]string
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		name := string(key)
		if text, ok := jsonText(s.span(0), orNumbers); ok {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = text
		}
	}
	if s.msg != "" {
		return nil
	}
	return all
}

// Has reports whether an object has something at the path: of lists and maps, at least
// one element; of a Go type's fields that are texts, numbers or booleans and no pointers,
// something else than zero.
func (p Path) Has(f Format, raw []byte) bool {
	switch {
	case len(p.steps) == 0:
		return len(raw) > 0
	case f == JSON:
		s := scanner{data: raw}
		return p.jsonHas(&s, p.steps, nil, 0) && s.msg == ""
	}
	return f == Protobuf && p.protoHas(raw, p.steps)
}

func (p Path) protoHas(msg []byte, steps []step) bool {
	st := &steps[0]
	if st.entry {
		var v found
		return findEntry(&v, msg, steps[:1]) && v.there && (len(steps) == 1 || v.wire == wireBytes && p.protoHas(v.raw, steps[1:]))
	}
	for i := 0; i < len(msg) && st.number != 0; {
		f, next := readField(msg, i)
		if next < 0 {
			return false
		}
		i = next
		switch {
		case f.num != st.number, st.where != nil && !st.where.inMessage(&f, msg, next):
		case len(steps) > 1:
			if f.wire == wireBytes && p.protoHas(f.bytes(msg, next), steps[1:]) {
				return true
			}
		case !p.plain, f.wire == wireVarint && f.n != 0, f.wire == wireBytes && next > f.value:
			return true
		}
	}
	return false
}

func (p Path) jsonHas(s *scanner, steps []step, chosen *where, depth int) (has bool) {
	for len(steps) > 0 && steps[0].name == "" {
		steps = steps[1:] // inlined
	}
	switch c := s.space(); {
	case c == '[' && depth < maxDepth:
		s.open('[')
		for ok := s.element(true); ok; ok = s.element(false) {
			if chosen != nil && !chosen.at(s) {
				s.pass()
			} else if len(steps) == 0 {
				s.pass()
				has = true
			} else if p.jsonHas(s, steps, nil, depth+1) {
				has = true
			}
		}
	case chosen != nil, len(steps) > 0 && c != '{':
		s.skip(depth)
	case len(steps) > 0:
		s.open('{')
		for key, ok := s.member(true); ok; key, ok = s.member(false) {
			if string(key) != steps[0].name {
				s.pass()
			} else if p.jsonHas(s, steps[1:], steps[0].where, depth+1) {
				has = true
			}
		}
	default:
		return p.isSomething(s.span(depth))
	}
	return has
}

// isSomething reports whether a value in JSON, which is no list, is more than none.
func (p Path) isSomething(value []byte) bool {
	switch {
	case len(value) == 0 || string(value) == "null":
		return false
	case p.many && value[0] == '{':
		s := scanner{data: value}
		s.open('{')
		_, ok := s.member(true)
		return ok
	case p.plain:
		return string(value) != `""` && string(value) != "0" && string(value) != "false"
	}
	return true
}
