package unmarshal

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// JSON decodes an object of no type, as sigs.k8s.io/json does: whole numbers are
// int64, others float64. Nothing of raw is kept.
func JSON(raw []byte) (obj map[string]any, err error) {
	err = with(func(d *decoder) (err error) {
		obj, err = d.document(raw)
		return err
	})
	if err != nil {
		obj = nil
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &obj)
	}
	return obj, err
}

// entryOf is one entry of a map that is being read.
type entryOf struct {
	key   string
	value any
}

// document reads a whole document, which must be an object.
func (d *decoder) document(b []byte) (map[string]any, error) {
	v, rest, err := d.any(space(b), 0)
	d.values, d.entries = d.values[:0], d.entries[:0]
	if err != nil || len(space(rest)) > 0 {
		return nil, errOdd
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, errOdd
	}
	return obj, nil
}

// any reads a value and returns what follows it.
func (d *decoder) any(b []byte, depth int) (any, []byte, error) {
	if len(b) == 0 || depth > deepest {
		return nil, nil, errOdd
	}
	switch b[0] {
	case '{':
		return d.object(b[1:], depth)
	case '[':
		return d.array(b[1:], depth)
	case '"':
		text, rest, err := d.quoted(b)
		if err != nil {
			return nil, nil, err
		}
		return d.words.boxed(text), rest, nil
	case 't':
		return literal(b, "true", true)
	case 'f':
		return literal(b, "false", false)
	case 'n':
		return literal(b, "null", nil)
	}
	return number(b)
}

func (d *decoder) object(b []byte, depth int) (any, []byte, error) {
	first := len(d.entries)
	b = space(b)
	if len(b) > 0 && b[0] == '}' {
		return map[string]any{}, b[1:], nil
	}
	for {
		if len(b) == 0 || b[0] != '"' {
			return nil, nil, errOdd
		}
		text, rest, err := d.quoted(b)
		if err != nil {
			return nil, nil, err
		}
		key := d.words.text(text)
		if b = space(rest); len(b) == 0 || b[0] != ':' {
			return nil, nil, errOdd
		}
		var value any
		if value, b, err = d.any(space(b[1:]), depth+1); err != nil {
			return nil, nil, err
		}
		d.entries = append(d.entries, entryOf{key, value})
		if b = space(b); len(b) == 0 {
			return nil, nil, errOdd
		}
		if b[0] == '}' {
			break
		}
		if b[0] != ',' {
			return nil, nil, errOdd
		}
		b = space(b[1:])
	}
	m := make(map[string]any, len(d.entries)-first)
	for _, e := range d.entries[first:] {
		m[e.key] = e.value
	}
	clear(d.entries[first:])
	d.entries = d.entries[:first]
	return m, b[1:], nil
}

func (d *decoder) array(b []byte, depth int) (any, []byte, error) {
	first := len(d.values)
	b = space(b)
	if len(b) > 0 && b[0] == ']' {
		return []any{}, b[1:], nil
	}
	for {
		value, rest, err := d.any(b, depth+1)
		if err != nil {
			return nil, nil, err
		}
		d.values = append(d.values, value)
		if b = space(rest); len(b) == 0 {
			return nil, nil, errOdd
		}
		if b[0] == ']' {
			break
		}
		if b[0] != ',' {
			return nil, nil, errOdd
		}
		b = space(b[1:])
	}
	list := make([]any, len(d.values)-first)
	copy(list, d.values[first:])
	clear(d.values[first:])
	d.values = d.values[:first]
	return list, b[1:], nil
}

func literal(b []byte, word string, value any) (any, []byte, error) {
	if !bytes.HasPrefix(b, []byte(word)) {
		return nil, nil, errOdd
	}
	return value, b[len(word):], nil
}

// number reads a number. Its syntax is checked here; strconv computes its value.
func number(b []byte) (any, []byte, error) {
	n, whole := numeral(b)
	if n == 0 {
		return nil, nil, errOdd
	}
	if whole {
		if v, err := strconv.ParseInt(string(b[:n]), 10, 64); err == nil {
			return v, b[n:], nil
		}
	}
	v, err := strconv.ParseFloat(string(b[:n]), 64)
	if err != nil {
		return nil, nil, errOdd
	}
	return v, b[n:], nil
}

// numeral returns how many bytes the number has that b begins with, 0 if there is none,
// and whether it is written as a whole number.
func numeral(b []byte) (n int, isWhole bool) {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 || whole > 1 && b[i] == '0' {
		return 0, false
	}
	i += whole
	isWhole = true
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return 0, false
		}
		i += 1 + n
		isWhole = false
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return 0, false
		}
		i += n
		isWhole = false
	}
	return i, isWhole
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

// quoted returns the text of a string that b begins with: a part of b, or, where
// something in it is escaped, memory that is used again.
func (d *decoder) quoted(b []byte) (text, rest []byte, err error) {
	n, plain := 1, true
	for {
		n += ordinary(b[n:])
		if n >= len(b) {
			return nil, nil, errOdd
		}
		c := b[n]
		switch {
		case c == '"':
			text = b[1:n]
			if !plain && !utf8.Valid(text) {
				return nil, nil, errOdd
			}
			return text, b[n+1:], nil
		case c == '\\':
			return d.unescaped(b, n)
		case c < ' ':
			return nil, nil, errOdd
		}
		plain = plain && c < utf8.RuneSelf
		n++
	}
}

// ordinary counts the bytes that are neither quotes, escapes, controls nor beyond
// ASCII, eight at a time.
func ordinary(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		odd := (w - ones*' ') | (quote - ones) | (slash - ones) | w
		if odd &= high; odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
	}
	return n
}

// unescaped returns the text of a string with escapes; n is where the first is.
func (d *decoder) unescaped(b []byte, n int) (text, rest []byte, err error) {
	d.scratch = append(d.scratch[:0], b[1:n]...)
	for n < len(b) {
		c := b[n]
		switch {
		case c == '"':
			if !utf8.Valid(d.scratch) {
				return nil, nil, errOdd
			}
			return d.scratch, b[n+1:], nil
		case c < ' ':
			return nil, nil, errOdd
		case c != '\\':
			d.scratch = append(d.scratch, c)
			n++
			continue
		}
		if n+1 >= len(b) {
			return nil, nil, errOdd
		}
		switch c := b[n+1]; c {
		case '"', '\\', '/':
			d.scratch = append(d.scratch, c)
		case 'b':
			d.scratch = append(d.scratch, '\b')
		case 'f':
			d.scratch = append(d.scratch, '\f')
		case 'n':
			d.scratch = append(d.scratch, '\n')
		case 'r':
			d.scratch = append(d.scratch, '\r')
		case 't':
			d.scratch = append(d.scratch, '\t')
		case 'u':
			if n+6 > len(b) {
				return nil, nil, errOdd
			}
			r, err := strconv.ParseUint(string(b[n+2:n+6]), 16, 16)
			if err != nil || 0xd800 <= r && r < 0xe000 {
				return nil, nil, errOdd // half of a pair
			}
			d.scratch = utf8.AppendRune(d.scratch, rune(r))
			n += 4
		default:
			return nil, nil, errOdd
		}
		n += 2
	}
	return nil, nil, errOdd
}

func space(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}
