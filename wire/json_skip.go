package wire

import (
	"encoding/binary"
	"math/bits"
)

// nesting remembers for each open bracket whether it is an object's. The top 64
// levels are in a word; deeper ones spill, a word at a time.
type nesting struct {
	depth int
	top   uint64
	spill []uint64
}

func (n *nesting) push(object bool) {
	if n.depth&63 == 0 && n.depth > 0 {
		n.spill = append(n.spill, n.top)
	}
	n.depth++
	n.top <<= 1
	if object {
		n.top |= 1
	}
}

// object reports whether the innermost bracket is an object's.
func (n *nesting) object() bool { return n.top&1 == 1 }

// closing returns the bracket that closes the innermost one.
func (n *nesting) closing() byte {
	if n.object() {
		return '}'
	}
	return ']'
}

func (n *nesting) pop() {
	n.depth--
	n.top >>= 1
	if n.depth&63 == 0 && n.depth > 0 {
		n.top = n.spill[len(n.spill)-1]
		n.spill = n.spill[:len(n.spill)-1]
	}
}

const (
	badString = "a string has no end, or a character or escape that JSON forbids"
	badAfter  = "a value must be followed by ',' or the closing bracket"
)

// skip checks the grammar of the value at i, which lies inside depth open
// brackets, and passes it.
func (s *scanner) skip(depth int) {
	data, i, n := s.data, s.i, nesting{}
value:
	if i = skipSpace(data, i); i >= len(data) {
		s.fail(i, "a value is missing")
		return
	}
	at := i
	switch c := data[i]; c {
	case '{', '[':
		if depth+n.depth >= maxDepth {
			s.fail(i, "nested too deep")
			return
		}
		i = skipSpace(data, i+1)
		if i < len(data) && data[i] == c+2 { // ']' is '['+2, '}' is '{'+2
			i++
			break
		}
		if n.push(c == '{'); c == '{' {
			goto key
		}
		goto value
	case '"':
		if i = skipString(data, i+1); i < 0 {
			s.fail(at, badString)
			return
		}
	default:
		if i = skipScalar(data, i); i < 0 {
			s.fail(at, "not a JSON value")
			return
		}
	}
after:
	if n.depth == 0 {
		s.i = i
		return
	}
	i = skipSpace(data, i)
	switch {
	case i < len(data) && data[i] == n.closing():
		i++
		n.pop()
		goto after
	case i >= len(data) || data[i] != ',':
		s.fail(i, badAfter)
		return
	}
	if i++; !n.object() {
		goto value
	}
key:
	at = i
	if i = skipKey(data, i); i >= 0 {
		goto value
	}
	s.i = at
	s.key() // says what is wrong with it
}

// skipKey returns the index after the key at i and its colon, or -1.
func skipKey(data []byte, i int) int {
	if i = skipSpace(data, i); i >= len(data) || data[i] != '"' {
		return -1
	}
	if i = skipString(data, i+1); i < 0 {
		return -1
	}
	if i = skipSpace(data, i); i >= len(data) || data[i] != ':' {
		return -1
	}
	return i + 1
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// skipScalar returns the index after the number, true, false or null at i, or -1.
func skipScalar(data []byte, i int) int {
	switch data[i] {
	case 't':
		return skipLiteral(data, i, "true")
	case 'f':
		return skipLiteral(data, i, "false")
	case 'n':
		return skipLiteral(data, i, "null")
	default:
		return skipNumber(data, i)
	}
}

// framer finds the end of a JSON value without checking what is in it: strings
// end, brackets balance. It can stop anywhere and continue when more has arrived.
type framer struct {
	n      int // bytes of the value that have been looked at
	depth  int
	kind   frameKind
	quoted bool // n is inside a string of a nested value
	done   bool // the value is the first n bytes

	// child is the first object or array directly inside the value: readers of
	// an envelope need not look for its end again. childEnd is 0 until it is known.
	childStart, childEnd int
}

type frameKind uint8

const (
	frameNew frameKind = iota
	frameNested
	frameString
	frameScalar
)

// What a byte outside strings means to framer.
const (
	classOther = iota
	classQuote
	classOpen
	classClose
)

var classes = [256]uint8{'"': classQuote, '{': classOpen, '[': classOpen, '}': classClose, ']': classClose}

// scan looks on in data, which starts with the value's first byte and holds no
// less than in the last call. It reports whether the value has ended: it is
// data[:f.n] then.
func (f *framer) scan(data []byte) bool {
	if !f.done {
		f.done = f.step(data)
	}
	return f.done
}

func (f *framer) step(data []byte) bool {
	if f.kind == frameNew {
		if len(data) == 0 {
			return false
		}
		switch data[0] {
		case '{', '[':
			f.kind, f.depth = frameNested, 1
		case '"':
			f.kind = frameString
		default:
			f.kind = frameScalar
		}
		f.n = 1
	}
	switch f.kind {
	case frameNested:
		return f.nested(data)
	case frameString:
		return f.string(data)
	default:
		for ; f.n < len(data); f.n++ {
			if c := data[f.n]; c == ',' || c == '}' || c == ']' || isSpace(c) {
				return true
			}
		}
		return false
	}
}

// string passes the rest of the string that n is in.
func (f *framer) string(data []byte) bool {
	i := f.n
	for {
		i = quoteOrSlash(data, i)
		switch {
		case i >= len(data), data[i] == '\\' && i+1 == len(data):
			f.n = i
			return false
		case data[i] == '\\':
			i += 2
		default:
			f.n, f.quoted = i+1, false
			return true
		}
	}
}

func (f *framer) nested(data []byte) bool {
	if f.quoted && !f.string(data) {
		return false
	}
	i, depth := f.n, f.depth
	for i < len(data) {
		switch classes[data[i]] {
		case classOther:
			i++
		case classQuote:
			f.n, f.quoted = i+1, true
			if !f.string(data) {
				f.depth = depth
				return false
			}
			i = f.n
		case classOpen:
			if depth++; depth == 2 && f.childStart == 0 {
				f.childStart = i
			}
			i++
		case classClose:
			i++
			if depth--; depth == 1 && f.childEnd == 0 {
				f.childEnd = i
			} else if depth == 0 {
				f.n = i
				return true
			}
		}
	}
	f.n, f.depth = i, depth
	return false
}

// quoteOrSlash returns the index of the first quote or backslash at or after i,
// len(data) if there is none.
func quoteOrSlash(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		q, b := w^swarQuote, w^swarSlash
		if m := ((q-swarOnes)&^q | (b-swarOnes)&^b) & swarHighs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(data); i++ {
		if data[i] == '"' || data[i] == '\\' {
			return i
		}
	}
	return i
}

// pass passes the value at i like framer does, without checking its inside.
func (s *scanner) pass() {
	var f framer
	if !f.scan(s.data[s.i:]) && f.kind != frameScalar {
		s.fail(s.i, "a value has no end")
		return
	}
	if f.kind == frameScalar && skipScalar(s.data[:s.i+f.n], s.i) != s.i+f.n {
		s.fail(s.i, "not a JSON value")
		return
	}
	s.i += f.n
}
