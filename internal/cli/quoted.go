package cli

import (
	"fmt"
	"slices"
	"strings"
)

// quoted writes names in quotes and in order, not too many of them.
func quoted(names []string) string {
	const most = 8
	names = slices.Sorted(slices.Values(names))
	var parts []string
	for i, n := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%q", n))
	}
	return strings.Join(parts, ", ")
}
