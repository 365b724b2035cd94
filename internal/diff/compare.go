package diff

import (
	"maps"
	"reflect"
	"slices"
)

// Op says how a value changed.
type Op string

// What can happen to a value.
const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"
)

// Change is one value that is not what it was.
type Change struct {
	Path Path `json:"path"`
	Op   Op   `json:"op"`
	Old  any  `json:"old,omitempty"`
	New  any  `json:"new,omitempty"`
}

// Compare returns what changed between two states of an object, in the order of
// its fields. The values are parts of the two states. What Clean leaves out does
// not count.
func Compare(before, after map[string]any) []Change {
	var c comparison
	c.maps(nil, Clean(before), Clean(after))
	return c.changes
}

type comparison struct{ changes []Change }

// values compares two values that stand in the same place.
func (c *comparison) values(p Path, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			c.maps(p, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			c.lists(p, b, a)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		c.changes = append(c.changes, Change{Path: p, Op: Changed, Old: before, New: after})
	}
}

func (c *comparison) maps(p Path, before, after map[string]any) {
	names := slices.Collect(maps.Keys(before))
	names = slices.AppendSeq(names, maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		b, was := before[name]
		a, is := after[name]
		switch {
		case was && is:
			c.values(p.field(name), b, a)
		case was:
			c.removed(p.field(name), b)
		default:
			c.added(p.field(name), a)
		}
	}
}

func (c *comparison) added(p Path, value any) {
	c.changes = append(c.changes, Change{Path: p, Op: Added, New: value})
}

func (c *comparison) removed(p Path, value any) {
	c.changes = append(c.changes, Change{Path: p, Op: Removed, Old: value})
}
