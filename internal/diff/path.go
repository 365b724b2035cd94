package diff

import (
	"slices"
	"strings"
)

// Step is one step of a path: a field, or an item of a list.
type Step struct {
	// Name is the field's name, or what the item is known by: its name, its
	// type, …, or its place in the list.
	Name string
	// Item: the step leads into a list.
	Item bool
}

// Path leads from the top of an object to a value.
type Path []Step

// String is the path as people write it: spec.containers[web].image,
// metadata.labels[app.kubernetes.io/name].
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.Item, !plain(s.Name):
			b.WriteString("[" + s.Name + "]")
		case b.Len() > 0:
			b.WriteString("." + s.Name)
		default:
			b.WriteString(s.Name)
		}
	}
	return b.String()
}

// plain reports whether a field's name can stand between dots.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '.' || r == '/' || r == '[' || r == ']' || r == ' '
	})
}

// MarshalText writes the path as String does.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Parent is the path without its last step.
func (p Path) Parent() Path { return p[:max(0, len(p)-1)] }

// Leaf is the last step.
func (p Path) Leaf() Step {
	if len(p) == 0 {
		return Step{}
	}
	return p[len(p)-1]
}

// field and item return the path to something below; p itself stays as it is.
func (p Path) field(name string) Path { return append(slices.Clip(p), Step{Name: name}) }
func (p Path) item(name string) Path  { return append(slices.Clip(p), Step{Name: name, Item: true}) }
