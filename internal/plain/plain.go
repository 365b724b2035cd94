// Package plain makes texts that come from a cluster fit for a terminal.
//
// What may live here: what is done to such a text, for the program and for descriptions.
// What may not: how it is laid out.
package plain

import (
	"strings"
	"unicode"
)

// Text makes a text fit for one line of a terminal: what would move the cursor, change
// colours or break the line becomes a space, and bytes that are no UTF-8 become U+FFFD. Tabs
// stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return ' '
		}
		return r
	}, s)
}

// Lines is Text for several lines.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}
