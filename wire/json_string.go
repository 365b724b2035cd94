package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Eight bytes are looked at in one step: subtracting one from a zero byte sets
// its high bit. A borrow can mark bytes above the first match by mistake, never
// below it, and only the lowest mark is used.
const (
	swarOnes  = 0x0101010101010101
	swarHighs = 0x8080808080808080
	swarQuote = swarOnes * '"'
	swarSlash = swarOnes * '\\'
	swarSpace = swarOnes * ' '
)

// skipString returns the index after the string whose opening quote is before i,
// or -1 if it has no end or a byte or escape that JSON forbids.
func skipString(data []byte, i int) int {
	for i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i:])
		q, b := w^swarQuote, w^swarSlash
		m := ((q-swarOnes)&^q | (b-swarOnes)&^b | (w-swarSpace)&^w) & swarHighs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if data[i] == '"' {
			return i + 1
		}
		if i = skipEscape(data, i); i < 0 {
			return -1
		}
	}
	for i < len(data) {
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(data, i); i < 0 {
				return -1
			}
		case c < ' ':
			return -1
		default:
			i++
		}
	}
	return -1
}

// skipEscape returns the index after the escape at i, or -1 if there is none.
func skipEscape(data []byte, i int) int {
	if i+1 >= len(data) || data[i] != '\\' {
		return -1
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if hex4(data, i+2) < 0 {
			return -1
		}
		return i + 6
	default:
		return -1
	}
}

// hex4 returns the value of the four hexadecimal digits at i, or -1.
func hex4(data []byte, i int) rune {
	if len(data)-i < 4 {
		return -1
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// plain reports whether the content of a string stands for itself: it has no
// escapes and is valid UTF-8.
func plain(s []byte) bool {
	ascii := true
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := binary.LittleEndian.Uint64(s[i:])
		b := w ^ swarSlash
		if (b-swarOnes)&^b&swarHighs != 0 {
			return false
		}
		ascii = ascii && w&swarHighs == 0
	}
	for ; i < len(s); i++ {
		if s[i] == '\\' {
			return false
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	return ascii || utf8.Valid(s)
}

// unquote appends what the content s of a valid JSON string means to dst. Bytes
// that are not UTF-8, and halves of surrogate pairs, become U+FFFD, as in
// encoding/json.
func unquote(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && s[i+1] == 'u':
			r := hex4(s, i+2)
			i += 6
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+1 < len(s) && s[i] == '\\' && s[i+1] == 'u' {
					pair = utf16.DecodeRune(r, hex4(s, i+2))
				}
				if r = pair; r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		case c == '\\':
			dst = append(dst, unescape(s[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}
