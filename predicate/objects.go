package predicate

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/wire"
)

// Objects asks of two states of an object, typed or unstructured. What cannot be
// answered, as the object's Go type has no such field, is accepted.
func (p Predicate) Objects(old, now any) bool { return p.of.holdsFor(old, now) }

// Objects asks of two states of an object, as Predicate.Objects does.
func (b *Bound) Objects(old, now any) bool { return b.of.holdsFor(old, now) }

func (c *condition) holdsFor(old, now any) bool {
	if c == nil {
		return true
	}
	a, b := valueOf(old), valueOf(now)
	return c.holds(func(c *condition) bool {
		steps := c.path.Steps()
		switch {
		case c.err != nil:
			return true
		case c.op == became:
			was, okOld := textAt(a, steps)
			is, okNow := textAt(b, steps)
			return !okOld || !okNow || is == c.value && was != c.value
		}
		return !same(a, b, steps)
	})
}

// valueOf returns what an object has in JSON: of an unstructured one its content.
func valueOf(obj any) reflect.Value {
	if u, ok := obj.(runtime.Unstructured); ok && !reflect.ValueOf(obj).IsNil() {
		return reflect.ValueOf(u.UnstructuredContent())
	}
	return reflect.ValueOf(obj)
}

// same compares what two values have behind the steps: elements of lists one by one.
func same(a, b reflect.Value, steps []wire.Step) bool {
	a, b = content(a), content(b)
	if len(steps) == 0 {
		return equal(a, b)
	}
	if isList(a) || isList(b) {
		return sameElements(elements(a, wire.Step{}), elements(b, wire.Step{}), steps)
	}
	x, okA := into(a, steps[0])
	y, okB := into(b, steps[0])
	if !okA || !okB {
		return false // nobody knows
	}
	if steps[0].Where != "" {
		return sameElements(elements(x, steps[0]), elements(y, steps[0]), steps[1:])
	}
	return same(x, y, steps[1:])
}

func sameElements(a, b []reflect.Value, steps []wire.Step) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(a[i], b[i], steps) {
			return false
		}
	}
	return true
}

// textAt returns the last text behind the steps, "" if there is none. It is not ok if
// nobody knows.
func textAt(v reflect.Value, steps []wire.Step) (text string, ok bool) {
	v = content(v)
	if len(steps) == 0 {
		if v.IsValid() && v.Kind() == reflect.String {
			text = v.String()
		}
		return text, true
	}
	next, ok := into(v, steps[0])
	if !ok || steps[0].Where == "" {
		if !ok {
			return "", false
		}
		return textAt(next, steps[1:])
	}
	for _, e := range elements(next, steps[0]) {
		if text, ok = textAt(e, steps[1:]); !ok {
			return "", false
		}
	}
	return text, true
}

// content follows pointers and interfaces; what is nil is no value.
func content(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

func isList(v reflect.Value) bool {
	return v.IsValid() && v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8
}

// elements returns those of a list that a step chooses.
func elements(v reflect.Value, s wire.Step) (all []reflect.Value) {
	if v = content(v); !isList(v) {
		return nil
	}
	for i := range v.Len() {
		e := v.Index(i)
		if s.Where != "" {
			if is, ok := textAt(e, []wire.Step{{Name: s.Where}}); !ok || is != s.Is {
				continue
			}
		}
		all = append(all, e)
	}
	return all
}

// into returns what a value has under the name of a step; ok is false if it is a struct
// that has no such field.
func into(v reflect.Value, s wire.Step) (next reflect.Value, ok bool) {
	switch v = content(v); {
	case !v.IsValid():
		return v, true
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		return v.MapIndex(reflect.ValueOf(s.Name).Convert(v.Type().Key())), true
	case v.Kind() == reflect.Struct:
		index, ok := fieldsOf(v.Type())[s.Name]
		if !ok {
			return reflect.Value{}, false
		}
		next, err := v.FieldByIndexErr(index)
		if err != nil {
			return reflect.Value{}, true // in a nil pointer
		}
		return next, true
	}
	return reflect.Value{}, true
}

var fields sync.Map // of maps of names in JSON to indexes, by type

func fieldsOf(t reflect.Type) map[string][]int {
	if known, ok := fields.Load(t); ok {
		return known.(map[string][]int)
	}
	names := map[string][]int{}
	for _, sf := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case !sf.IsExported() || name == "-" || name == "" && sf.Anonymous:
			continue
		case name == "":
			name = sf.Name
		}
		if _, there := names[name]; !there || len(sf.Index) < len(names[name]) {
			names[name] = sf.Index
		}
	}
	fields.Store(t, names)
	return names
}

// equal compares two values as Kubernetes does: none and empty are the same.
func equal(a, b reflect.Value) (is bool) {
	if !a.IsValid() || !b.IsValid() {
		return isEmpty(a) && isEmpty(b)
	}
	defer func() {
		if recover() != nil {
			is = false // a type that cannot be compared
		}
	}()
	return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
}

func isEmpty(v reflect.Value) bool {
	return !v.IsValid() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}
