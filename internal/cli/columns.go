package cli

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// columns is how many columns of a terminal a text takes: two for each wide
// character, as those of Chinese are, none for one that is drawn onto the one
// before it.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if r < 0x300 { // the most common ones
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// pad fills a text with spaces to so many columns.
func pad(s string, to int) string { return s + strings.Repeat(" ", max(0, to-columns(s))) }

// head returns the longest beginning of a text that fits into so many columns, and
// tail the longest end.
func head(s string, most int) string {
	for i, r := range s {
		if most -= columnsOf(r); most < 0 {
			return s[:i]
		}
	}
	return s
}

func tail(s string, most int) string {
	r := []rune(s)
	from := len(r)
	for from > 0 && most >= columnsOf(r[from-1]) {
		from--
		most -= columnsOf(r[from])
	}
	return string(r[from:])
}

// shorten cuts the end off a text that takes more than so many columns.
func shorten(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	if most < 1 {
		return ""
	}
	return head(s, most-1) + "…"
}

// shortenMiddle cuts out of the middle of a text: names that are generated differ
// at their ends.
func shortenMiddle(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	end := (most - 1) / 3
	return shorten(s, most-end) + tail(s, end)
}

// shortenPair shortens two texts so that one sees where they differ.
func shortenPair(a, b string, most int) (string, string) {
	if columns(a) <= most && columns(b) <= most {
		return a, b
	}
	ra, rb := []rune(a), []rune(b)
	same := 0
	for same < min(len(ra), len(rb)) && ra[same] == rb[same] {
		same++
	}
	// What is equal goes as far as it must; some of it stays, to show where one is.
	cut := min(same-most/4, max(columns(a), columns(b))-most+1)
	if same > most/2 && cut > 1 {
		a, b = "…"+string(ra[cut:]), "…"+string(rb[cut:])
	}
	return shorten(a, most), shorten(b, most)
}
