// Package humane writes numbers for people.
//
// What may live here: how a number stands in a sentence or in a table, for errors, the
// program and the page alike. What may not: anything with imports beyond a few of the
// standard library, as package kinform has this one.
package humane

import (
	"fmt"
	"strconv"
)

// Integer is a whole number that counts something.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint64
}

// Count writes a number with its noun, whose plural has an s: "1 object", "1,204 objects".
func Count[N Integer](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// Thousands writes a number in groups of three digits.
func Thousands[N Integer](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Size writes a number of bytes with three digits or fewer.
func Size[N Integer](bytes N) string {
	v, units := float64(bytes), []string{"B", "kB", "MB", "GB", "TB"}
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	if v < 9.95 && v != float64(int64(v)) {
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.0f %s", v, units[0])
}
