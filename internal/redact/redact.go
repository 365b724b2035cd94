// Package redact makes Secrets fit to be shown: which values there are, and which of
// them changed, but none of the values.
//
// What may live here: what must not be shown of an object. What may not: how it is
// shown.
package redact

import (
	"encoding/base64"
	"maps"
	"reflect"
	"strings"

	"github.com/kinform/kinform/internal/diff"
)

// What stands for a value that is not shown.
const (
	Hidden        = "(hidden)"
	HiddenChanged = "(hidden, changed)"
)

// IsSecret reports whether an object says that it is a Secret.
func IsSecret(obj map[string]any) bool { return obj["kind"] == "Secret" && obj["apiVersion"] == "v1" }

// Secret returns a Secret as it may be shown: without its values, without kubectl's copy
// of them, and without annotations that repeat one. The Secret itself is not changed.
func Secret(obj map[string]any) map[string]any {
	shown := maps.Clone(obj)
	for _, field := range fields {
		if v, ok := obj[field]; ok {
			shown[field] = mask(v, nil)
		}
	}
	withoutCopies(shown, valuesOf(obj))
	return shown
}

// Secrets returns two states of a Secret as they may be shown. Which values changed can
// still be seen. What diff.Clean leaves out is left out. Before may be nil. The states
// themselves are not changed.
func Secrets(before, after map[string]any) (was, is map[string]any) {
	was, is = maps.Clone(diff.Clean(before)), maps.Clone(diff.Clean(after))
	for _, field := range fields {
		if v, ok := after[field]; ok {
			is[field] = mask(v, before[field])
		}
		if v, ok := before[field]; ok {
			was[field] = mask(v, nil)
		}
	}
	values := append(valuesOf(before), valuesOf(after)...)
	withoutCopies(was, values)
	withoutCopies(is, values)
	return was, is
}

// fields are where a Secret has its values.
var fields = []string{"data", "stringData"}

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

// shortest is how long a value is, in bytes, to be looked for in annotations: nearly every
// text has a shorter one in it.
const shortest = 4

// valuesOf returns the values of a Secret, as they are and in base64.
func valuesOf(obj map[string]any) []string {
	var values []string
	for _, field := range fields {
		byKey, _ := obj[field].(map[string]any)
		for _, v := range byKey {
			text, ok := v.(string)
			if !ok || len(text) < shortest {
				continue
			}
			values = append(values, text)
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil && len(plain) >= shortest {
				values = append(values, string(plain))
			}
		}
	}
	return values
}

// lastApplied is where kubectl apply keeps a copy of what it was given.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// withoutCopies hides the annotations of a state that hold a value: some controllers keep
// one there. The state is a copy at its top, and only there.
func withoutCopies(obj map[string]any, values []string) {
	meta, _ := obj["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	if len(notes) == 0 {
		return
	}
	masked := maps.Clone(notes)
	for key, note := range notes {
		if key == lastApplied || repeats(note, values) {
			masked[key] = Hidden
		}
	}
	meta = maps.Clone(meta)
	meta["annotations"] = masked
	obj["metadata"] = meta
}

func repeats(note any, values []string) bool {
	text, ok := note.(string)
	if !ok {
		return true // annotations are texts: who knows what this is
	}
	for _, v := range values {
		if strings.Contains(text, v) {
			return true
		}
	}
	return false
}
