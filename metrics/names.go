package metrics

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/kinform/kinform/describe"
)

// other is the name of informers and subscribers beyond the limit.
const other = "other"

// longest is the maximum length of a label in bytes.
const longest = 120

// labelOf makes a label of any text.
func labelOf(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// resourceOf returns the resource of an informer, "pods.v1", or the Go type of its
// objects if the resource is not known.
func resourceOf(d describe.Description) string {
	return labelOf(cmp.Or(d.Source.Resource, strings.TrimPrefix(d.ObjectType, "*"), d.Source.Name))
}

// selectionOf returns a hash of what an informer selects, or "" if it selects
// everything.
func selectionOf(d describe.Description) string {
	s := d.Source
	selection := []string{s.LabelSelector, s.FieldSelector, s.Tweak}
	selection = append(selection, slices.Sorted(slices.Values(s.Namespaces))...)
	if s.MetadataOnly {
		selection = append(selection, "metadata only")
	}
	if strings.Join(selection, "") == "" {
		return ""
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%q", selection)
	return fmt.Sprintf("%08x", h.Sum32())
}

// nameOf returns the name of an informer.
func nameOf(d describe.Description) string {
	name := resourceOf(d)
	if selection := selectionOf(d); selection != "" {
		name += ":" + selection
	}
	return name
}

// namespacesOf returns the namespaces of an informer, or their number if there are
// many.
func namespacesOf(d describe.Description) string {
	names := slices.Sorted(slices.Values(d.Source.Namespaces))
	if list := strings.ToValidUTF8(strings.Join(names, ","), "?"); len(list) <= longest {
		return list
	}
	return fmt.Sprintf("%d namespaces", len(names))
}

// names gives each of several things a unique name while it exists: a second one of the
// same name gets a number. Free numbers are reused, so there are never more names than
// there have been things at one time.
type names struct {
	most  int // how many there may be; others share one name
	of    map[uint64]string
	taken map[string]uint64
}

// name returns the name of the thing with an id.
func (n *names) name(id uint64, wanted string) string {
	if name, ok := n.of[id]; ok {
		return name
	}
	if n.of == nil {
		n.of, n.taken = map[uint64]string{}, map[string]uint64{}
	}
	if len(n.of) >= n.most {
		return other
	}
	name := wanted
	for i := 2; name == other || n.taken[name] != 0; i++ {
		name = fmt.Sprintf("%s#%d", wanted, i)
	}
	n.of[id], n.taken[name] = name, id
	return name
}

// keep forgets things that no longer exist.
func (n *names) keep(there map[uint64]bool) {
	for id, name := range n.of {
		if !there[id] {
			delete(n.of, id)
			delete(n.taken, name)
		}
	}
}
