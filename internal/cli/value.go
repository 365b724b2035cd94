package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/plain"
)

// How much of a value fits into a line, in characters.
const (
	longestValue = 48
	longestPair  = 40 // each of two that are shown side by side
)

// inline writes a value in one line, as YAML's flow style does, with what is of
// interest first.
func inline(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return word(v)
	case map[string]any:
		return "{" + strings.Join(inlineFields(v), ", ") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, inlineItem(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// inlineFields writes the fields of a map, the short ones first: of those, more
// fit into a line. Minor ones are left out unless there is nothing else.
func inlineFields(m map[string]any) []string {
	var major, all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		field := word(k) + ": " + inline(m[k])
		all = append(all, field)
		if m[k] != nil && !diff.MinorField(k, 1) {
			major = append(major, field)
		}
	}
	if len(major) == 0 {
		major = all
	}
	slices.SortStableFunc(major, func(a, b string) int { return len(a) - len(b) })
	return major
}

// inlineItem writes an item of a list: by its name, if it has one.
func inlineItem(item any) string {
	if m, ok := item.(map[string]any); ok {
		for _, name := range []string{"name", "type"} {
			if s, ok := m[name].(string); ok {
				return word(s)
			}
		}
	}
	return inline(item)
}

// word writes a string bare where it cannot be mistaken for anything else.
func word(s string) string {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`,{}"`, r) }
	if s == "" || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

// printable makes a text of the cluster's fit for a line.
func printable(s string) string { return plain.Text(s) }
