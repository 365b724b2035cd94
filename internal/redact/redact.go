// Package redact makes Secrets fit to be shown: which values there are, and which of
// them changed, but none of the values.
//
// What may live here: what must not be shown of an object. What may not: how it is
// shown.
package redact

import (
	"maps"
	"reflect"

	"github.com/kinform/kinform/internal/diff"
)

// What stands for a value that is not shown.
const (
	Hidden        = "(hidden)"
	HiddenChanged = "(hidden, changed)"
)

// IsSecret reports whether an object says that it is a Secret.
func IsSecret(obj map[string]any) bool { return obj["kind"] == "Secret" && obj["apiVersion"] == "v1" }

// Secret returns a Secret as it may be shown: without its values, and without those of
// its annotations, where kubectl and other programs keep copies. The Secret itself is not
// changed.
func Secret(obj map[string]any) map[string]any {
	shown := maps.Clone(obj)
	hide(shown, nil, obj)
	return shown
}

// Secrets returns two states of a Secret as they may be shown. Which values changed can
// still be seen. What diff.Clean leaves out is left out. Before may be nil. The states
// themselves are not changed.
func Secrets(before, after map[string]any) (was, is map[string]any) {
	before, after = diff.Clean(before), diff.Clean(after)
	was, is = maps.Clone(before), maps.Clone(after)
	hide(was, nil, before)
	hide(is, before, after)
	return was, is
}

// hide masks what a state has in the places of secrets. The state is a copy at its top,
// and only there.
func hide(shown, before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		if v, ok := after[field]; ok {
			shown[field] = mask(v, before[field])
		}
	}
	meta, _ := after["metadata"].(map[string]any)
	old, _ := before["metadata"].(map[string]any)
	if notes, ok := meta["annotations"]; ok {
		meta = maps.Clone(meta)
		meta["annotations"] = mask(notes, old["annotations"])
		shown["metadata"] = meta
	}
}

// mask replaces every value; those that are not as before are marked.
func mask(values, before any) any {
	byKey, ok := values.(map[string]any)
	if !ok {
		return Hidden
	}
	old, _ := before.(map[string]any)
	masked := make(map[string]any, len(byKey))
	for key, v := range byKey {
		masked[key] = Hidden
		if o, was := old[key]; was && !reflect.DeepEqual(o, v) {
			masked[key] = HiddenChanged
		}
	}
	return masked
}
