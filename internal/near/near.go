// Package near finds what somebody may have meant who wrote a name that does not exist.
package near

import (
	"cmp"
	"slices"
	"strings"
)

// Words returns the words that somebody who wrote word may have meant, best
// first, at most three.
func Words(word string, known []string) []string {
	type candidate struct {
		word     string
		distance int
	}
	word = strings.ToLower(word)
	var found []candidate
	for _, k := range known {
		d := distance(word, strings.ToLower(k))
		if word != "" && strings.HasPrefix(strings.ToLower(k), word) {
			d = min(d, 2)
		}
		if d <= max(1, min(3, len(k)/3)) {
			found = append(found, candidate{k, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(a.distance-b.distance, strings.Compare(a.word, b.word))
	})
	var words []string
	for _, c := range found {
		if !slices.Contains(words, c.word) {
			words = append(words, c.word)
		}
	}
	return words[:min(3, len(words))]
}

// distance is the number of letters that have to be added, removed, replaced or
// swapped with their neighbour to make b of a.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now := make([]int, len(b)+1)
		now[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			now[j] = min(last[j]+1, now[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last = last, now
	}
	return last[len(b)]
}

// Or writes words as a choice: "pods, nodes or events".
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Hint is what an error may add about an unknown word: "; did you mean pods?", or nothing.
func Hint(word string, known []string) string {
	if words := Words(word, known); len(words) > 0 {
		return "; did you mean " + Or(words) + "?"
	}
	return ""
}
