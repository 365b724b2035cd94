package cli

import (
	"maps"
	"reflect"

	"github.com/kinform/kinform/internal/diff"
)

// What stands for a value that is not shown.
const (
	hidden        = "(hidden)"
	hiddenChanged = "(hidden, changed)"
)

// redact returns two states of a Secret as they may be shown: without their
// values, and without kubectl's copy of them. Which values changed can still be
// seen. Before may be nil. The states themselves are not changed.
func redact(before, after map[string]any) (was, is map[string]any) {
	was, is = maps.Clone(diff.Clean(before)), maps.Clone(diff.Clean(after))
	for _, field := range []string{"data", "stringData"} {
		if v, ok := after[field]; ok {
			is[field] = mask(v, before[field])
		}
		if v, ok := before[field]; ok {
			was[field] = mask(v, nil)
		}
	}
	return was, is
}

// mask replaces every value; those that are not as before are marked.
func mask(values, before any) any {
	byKey, ok := values.(map[string]any)
	if !ok {
		return hidden
	}
	old, _ := before.(map[string]any)
	masked := make(map[string]any, len(byKey))
	for key, v := range byKey {
		masked[key] = hidden
		if o, was := old[key]; was && !reflect.DeepEqual(o, v) {
			masked[key] = hiddenChanged
		}
	}
	return masked
}
