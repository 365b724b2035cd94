package wire

import "math"

// maxDepth is how deep JSON may nest: encoding/json's own limit.
const maxDepth = 10000

// scanner walks over JSON in memory. Its methods take the value at i, and leave i
// after it. The first error stays: it moves i to the end, so that every loop ends,
// and all later calls do nothing.
type scanner struct {
	data    []byte
	i       int
	scratch []byte // unquoted strings
	msg     string // the first error
	at      int    // where
}

func (s *scanner) fail(at int, msg string) {
	if s.msg == "" {
		s.msg, s.at = msg, at
	}
	s.i = len(s.data)
}

// err returns the error so far, with base added to its offset.
func (s *scanner) err(base int64) error {
	if s.msg == "" {
		return nil
	}
	return &SyntaxError{Format: JSON, Offset: base + int64(s.at), Msg: s.msg}
}

// space moves to the next byte that is not white space and returns it, 0 at the end.
func (s *scanner) space() byte {
	for s.i < len(s.data) {
		c := s.data[s.i]
		if !isSpace(c) {
			return c
		}
		s.i++
	}
	return 0
}

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r')
}

// end requires that nothing but white space is left.
func (s *scanner) end() {
	if s.space(); s.i < len(s.data) {
		s.fail(s.i, "data after the end of the value")
	}
}

// open enters an object or array and reports whether the value is one.
func (s *scanner) open(bracket byte) bool {
	if s.space() != bracket {
		return false
	}
	s.i++
	return true
}

// member moves to the value of the next member of the object that was entered and
// returns its key; ok is false after the last one, and after an error. Use:
//
//	for key, ok := s.member(true); ok; key, ok = s.member(false) { … }
func (s *scanner) member(first bool) (key []byte, ok bool) {
	if !s.next(first, '}') {
		return nil, false
	}
	return s.key()
}

// key passes a key and its colon.
func (s *scanner) key() (key []byte, ok bool) {
	if s.space() != '"' {
		s.fail(s.i, "a key must be a string")
		return nil, false
	}
	key, ok = s.text()
	if !ok {
		return nil, false
	}
	if s.space() != ':' {
		s.fail(s.i, "a key must be followed by ':'")
		return nil, false
	}
	s.i++
	s.space()
	return key, true
}

// element moves to the next element of the array that was entered; false after the
// last one, and after an error.
func (s *scanner) element(first bool) bool {
	if !s.next(first, ']') {
		return false
	}
	s.space()
	return true
}

// next passes the comma before a further member or element, or the closing bracket.
func (s *scanner) next(first bool, closing byte) bool {
	switch c := s.space(); {
	case s.msg != "":
		return false
	case c == closing:
		s.i++
		return false
	case first:
		return true
	case c == ',':
		s.i++
		return true
	default:
		s.fail(s.i, badAfter)
		return false
	}
}

// text returns what the string at i means. It aliases data, or scratch where it
// has escapes.
func (s *scanner) text() ([]byte, bool) {
	start := s.i + 1
	end := skipString(s.data, start)
	if end < 0 {
		s.fail(s.i, badString)
		return nil, false
	}
	s.i = end
	content := s.data[start : end-1 : end-1]
	if plain(content) {
		return content, true
	}
	from := len(s.scratch)
	s.scratch = unquote(s.scratch, content)
	return s.scratch[from:len(s.scratch):len(s.scratch)], true
}

// str reads a string into dst; null leaves dst as it is.
func (s *scanner) str(dst *[]byte, what string) {
	switch s.space() {
	case '"':
		if text, ok := s.text(); ok {
			*dst = text
		}
	case 'n':
		s.literal("null")
	default:
		s.fail(s.i, what+" is not a string")
	}
}

// boolean reads true or false into dst; null means false.
func (s *scanner) boolean(dst *bool, what string) {
	*dst = false
	switch s.space() {
	case 't':
		s.literal("true")
		*dst = true
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.fail(s.i, what+" is not a boolean")
	}
}

// integer reads a whole number into dst and reports true; null leaves dst as it is.
func (s *scanner) integer(dst *int64, what string) bool {
	if s.space() == 'n' {
		s.literal("null")
		return false
	}
	start := s.i
	end := skipNumber(s.data, start)
	if end < 0 {
		s.fail(start, what+" is not a number")
		return false
	}
	n, ok := parseInt(s.data[start:end])
	if !ok {
		s.fail(start, what+" is not a whole number of 64 bits")
		return false
	}
	s.i = end
	*dst = n
	return true
}

func parseInt(digits []byte) (int64, bool) {
	limit, negative := uint64(math.MaxInt64), digits[0] == '-'
	if negative {
		limit, digits = limit+1, digits[1:]
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' || n > limit/10 {
			return 0, false
		}
		if n = n*10 + uint64(c-'0'); n > limit {
			return 0, false
		}
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// literal passes word, one of null, true and false.
func (s *scanner) literal(word string) {
	if end := skipLiteral(s.data, s.i, word); end >= 0 {
		s.i = end
	} else {
		s.fail(s.i, "not a JSON value")
	}
}

func skipLiteral(data []byte, i int, word string) int {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// skipNumber returns the index after the number at i, or -1.
func skipNumber(data []byte, i int) int {
	if i < len(data) && data[i] == '-' {
		i++
	}
	switch {
	case i >= len(data) || data[i] < '0' || data[i] > '9':
		return -1
	case data[i] == '0':
		i++
	default:
		i = skipDigits(data, i)
	}
	if i < len(data) && data[i] == '.' {
		from := i + 1
		if i = skipDigits(data, from); i == from {
			return -1
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		from := i
		if i = skipDigits(data, from); i == from {
			return -1
		}
	}
	return i
}

func skipDigits(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}
