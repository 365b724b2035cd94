package unmarshal

import "unsafe"

// Reading a quantity changes it: it remembers its text, and what it compares itself with
// may have it change its form. So what objects have in common must not have one, except
// in maps, from which quantities are copied.

// quantities reports whether values of a field may have a quantity that is not in a map.
// Types that contain themselves may, as far as is known.
func (f *field) quantities() bool {
	switch f.op {
	case opQuantity, opQuantityPtr:
		return true
	case opMethod, opMethodPtr:
		return f.typ == quantityType
	case opMethodSlice:
		return f.typ.Elem() == quantityType
	case opMessage, opMessagePtr, opMessageSlice:
		return f.of.quantities || !f.of.made
	}
	return false
}

// behind reports whether a field that is copied would have a quantity in common with the
// copy.
func (f *field) behind(at unsafe.Pointer) bool {
	if !f.quantities() {
		return false
	}
	switch f.op {
	case opQuantity, opMethod:
		return false
	case opMessage:
		return f.of.behind(at)
	}
	return f.has(at, 0)
}

func (p *plan) behind(at unsafe.Pointer) bool {
	for i := range p.fields {
		if f := &p.fields[i]; f.behind(unsafe.Add(at, f.offset)) {
			return true
		}
	}
	return false
}

// has reports whether the value of a field has a quantity that is not in a map.
func (f *field) has(at unsafe.Pointer, depth int) bool {
	if depth > deepest {
		return true
	}
	if !f.quantities() {
		return false
	}
	switch f.op {
	case opMessage:
		return f.of.has(at, depth+1)
	case opMessagePtr:
		p := *(*unsafe.Pointer)(at)
		return p != nil && f.of.has(p, depth+1)
	case opMessageSlice:
		s := (*slice)(at)
		for i := range s.len {
			if f.of.has(unsafe.Add(s.at, uintptr(i)*f.size), depth+1) {
				return true
			}
		}
		return false
	case opQuantityPtr, opMethodPtr:
		return *(*unsafe.Pointer)(at) != nil
	case opMethodSlice:
		return (*slice)(at).len > 0
	}
	return true
}

func (p *plan) has(at unsafe.Pointer, depth int) bool {
	for i := range p.fields {
		if f := &p.fields[i]; f.has(unsafe.Add(at, f.offset), depth) {
			return true
		}
	}
	return false
}
