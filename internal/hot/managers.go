package hot

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kinform/kinform/internal/diff"
)

// Field is one field that a change has touched, and the manager that did; "" if the
// object does not tell.
type Field struct {
	Path    string
	Manager string
}

// Writers finds out who has changed which fields, by metadata.managedFields of the states
// before and after, as unstructured objects have it. Times there are whole seconds, and an
// entry does not change when its manager writes the same fields again within one. So a
// field's writer is first of all who owns it after the change. A field that was removed
// has no owner; who did that shows only if another field was written, too.
func Writers(before, after any, changed []diff.Change) []Field {
	old, now := claims(before), claims(after)
	wrote := slices.DeleteFunc(slices.Clone(now), func(c claim) bool { return !c.renewed(old) })
	var fields []Field
	for _, c := range changed {
		owner := newest(wrote, c.Path)
		if owner == "" {
			owner = newest(now, c.Path)
		}
		if owner == "" { // it was removed: nobody owns it any more
			owner = latest(wrote)
		}
		fields = append(fields, Field{Path: c.Path.String(), Manager: owner})
	}
	if len(changed) == 0 {
		if owner := latest(wrote); owner != "" {
			fields = append(fields, Field{Manager: owner})
		}
	}
	return fields
}

// claim is what a manager says to own: an entry of the managed fields.
type claim struct {
	manager, operation, subresource, time string
	fields                                map[string]any
}

func claims(managed any) []claim {
	entries, _ := managed.([]any)
	var all []claim
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		text := func(name string) string { s, _ := m[name].(string); return s }
		fields, _ := m["fieldsV1"].(map[string]any)
		all = append(all, claim{text("manager"), text("operation"), text("subresource"), text("time"), fields})
	}
	return all
}

// renewed reports whether a claim says more than before: the time is another one, or it
// has new fields. One that has lost fields has been written over.
func (c claim) renewed(old []claim) bool {
	for _, o := range old {
		if o.manager == c.manager && o.operation == c.operation && o.subresource == c.subresource {
			return o.time != c.time || !within(c.fields, o.fields)
		}
	}
	return true
}

// within reports whether all of a are in b.
func within(a, b map[string]any) bool {
	for name, below := range a {
		other, ok := b[name]
		if !ok {
			return false
		}
		x, _ := below.(map[string]any)
		y, _ := other.(map[string]any)
		if !reflect.DeepEqual(x, y) && !within(x, y) {
			return false
		}
	}
	return true
}

// newest is the manager that has written last of those that own a field.
func newest(all []claim, p diff.Path) string {
	return latest(slices.DeleteFunc(slices.Clone(all), func(c claim) bool { return !owns(c.fields, p) }))
}

func latest(all []claim) string {
	if len(all) == 0 {
		return ""
	}
	return slices.MaxFunc(all, func(a, b claim) int { return strings.Compare(a.time, b.time) }).manager
}

// owns reports whether managed fields have a field, or something that it is a part of as
// a whole.
func owns(fields map[string]any, p diff.Path) bool {
	for i, step := range p {
		below, ok := child(fields, step)
		if !ok {
			return i > 0 && len(fields) == 0
		}
		fields = below
	}
	return true
}

// child returns what is owned below a step: "f:replicas", or for an item of a list
// `k:{"name":"web"}`, where any value may be what the step is named after.
func child(fields map[string]any, step diff.Step) (map[string]any, bool) {
	if below, ok := fields["f:"+step.Name]; ok {
		m, _ := below.(map[string]any)
		return m, true
	}
	for name, below := range fields {
		key, isKey := strings.CutPrefix(name, "k:")
		value, isValue := strings.CutPrefix(name, "v:")
		if isKey && hasValue(key, step.Name) || isValue && strings.Trim(value, `"`) == step.Name {
			m, _ := below.(map[string]any)
			return m, true
		}
	}
	return nil, false
}

func hasValue(key, value string) bool {
	if !strings.Contains(key, value) {
		return false
	}
	var fields map[string]any
	if json.Unmarshal([]byte(key), &fields) != nil {
		return false
	}
	for _, v := range fields {
		if fmt.Sprint(v) == value {
			return true
		}
	}
	return false
}
