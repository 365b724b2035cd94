package encode

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Unstructured data: maps, lists, texts, numbers. They are written here and not by
// package json, which makes 1 of 1.0, so that another number comes back.

// errNotFields: a value is not one that is read from JSON.
var errNotFields = errors.New("encode: a value that JSON does not give")

// deepest bounds how far values may be nested; those without an end are no tree.
const deepest = 1000

// appendFields appends an object of no type. Keys are sorted, so that equal objects
// have equal bytes, and nearly equal ones nearly equal bytes.
func appendFields(dst []byte, fields map[string]any) ([]byte, error) {
	return appendValue(dst, fields, 0)
}

func appendValue(dst []byte, value any, depth int) ([]byte, error) {
	if depth > deepest {
		return dst, errNotFields
	}
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendText(dst, v)
	case []any:
		return appendList(dst, v, depth)
	case map[string]any:
		return appendMap(dst, v, depth)
	}
	return dst, errNotFields
}

func appendMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if m == nil {
		return dst, errNotFields
	}
	var few [16]string
	keys := slices.AppendSeq(few[:0], maps.Keys(m))
	slices.Sort(keys)
	dst = append(dst, '{')
	var err error
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendText(dst, k); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), m[k], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendList(dst []byte, list []any, depth int) ([]byte, error) {
	if list == nil {
		return dst, errNotFields
	}
	dst = append(dst, '[')
	var err error
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendFloat appends a number so that it is read as one that need not be whole.
func appendFloat(dst []byte, v float64) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, errNotFields
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if !slices.ContainsFunc(dst[at:], func(c byte) bool { return c == '.' || c == 'e' }) {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

const hex = "0123456789abcdef"

func appendText(dst []byte, text string) ([]byte, error) {
	dst = append(dst, '"')
	from, ascii := 0, true
	for i := range len(text) {
		c := text[i]
		ascii = ascii && c < utf8.RuneSelf
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		if from = i + 1; c >= ' ' {
			dst = append(dst, '\\', c)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	if !ascii && !utf8.ValidString(text) {
		return dst, errNotFields
	}
	return append(append(dst, text[from:]...), '"'), nil
}

// sameFields compares two objects of no type as reflect.DeepEqual does, faster.
func sameFields(a, b map[string]any) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !sameValue(v, w) {
			return false
		}
	}
	return true
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameFields(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b, sameValue)
	case string:
		b, ok := b.(string)
		return ok && a == b
	}
	return reflect.DeepEqual(a, b)
}
