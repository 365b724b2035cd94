package kinform

import (
	"iter"

	"github.com/kinform/kinform/internal/engine"
)

// Labels are an object's labels, read without decoding it. They fit
// labels.Selector.Matches. Compare two of them by their content, not with ==.
type Labels struct{ of engine.Labels }

// All yields the labels in the order of their keys.
func (l Labels) All() iter.Seq2[string, string] { return l.of.All() }

// Lookup returns the value of a label and whether the object has it.
func (l Labels) Lookup(key string) (value string, exists bool) { return l.of.Lookup(key) }

// Has reports whether the object has a label.
func (l Labels) Has(key string) bool { return l.of.Has(key) }

// Get returns the value of a label, or "".
func (l Labels) Get(key string) string { return l.of.Get(key) }

// Map returns a copy of the labels.
func (l Labels) Map() map[string]string { return l.of.Map() }
