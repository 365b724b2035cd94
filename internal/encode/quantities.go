package encode

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Quantity remembers its text when somebody first asks for that, and the generated
// methods that write protobuf do. An object that was handed over must not be changed,
// so one that has such a quantity is copied first. Of those in maps the methods write
// copies themselves.

// trail leads from a type to the quantities in it; nil if it has none.
type trail struct {
	quantity bool
	fields   []step // of a struct
	elem     *trail // of a pointer, a slice, an array or a map
}

type step struct {
	index int
	trail *trail
}

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	// textOf is where a quantity keeps its text.
	textOf, hasText = quantityType.FieldByName("s")
)

// trailOf returns the trail of a type. Types that contain themselves are in known while
// they are looked at.
func trailOf(t reflect.Type, known map[reflect.Type]*trail) *trail {
	if t == quantityType {
		return &trail{quantity: true}
	}
	if to, ok := known[t]; ok {
		return to
	}
	to := &trail{}
	known[t] = to
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if of := trailOf(t.Field(i).Type, known); of != nil {
				to.fields = append(to.fields, step{i, of})
			}
		}
	case reflect.Map:
		if t.Elem() != quantityType {
			to.elem = trailOf(t.Elem(), known)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		to.elem = trailOf(t.Elem(), known)
	}
	if len(to.fields) == 0 && to.elem == nil {
		known[t] = nil
		return nil
	}
	return to
}

// forgetful reports whether a value has a quantity that does not know its text.
func (to *trail) forgetful(v reflect.Value) bool {
	if to == nil {
		return false
	}
	if to.quantity {
		return !hasText || v.FieldByIndex(textOf.Index).Len() == 0
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, s := range to.fields {
			if s.trail.forgetful(v.Field(s.index)) {
				return true
			}
		}
	case reflect.Pointer:
		return !v.IsNil() && to.elem.forgetful(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if to.elem.forgetful(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if to.elem.forgetful(it.Value()) {
				return true
			}
		}
	}
	return false
}

// writable returns an object that its own methods may change while they write it: a
// copy, if they would.
func (s *shape) writable(obj any) (any, error) {
	if !s.quantities.forgetful(reflect.ValueOf(obj).Elem()) {
		return obj, nil
	}
	o, ok := obj.(runtime.Object)
	if !ok {
		return nil, errNotCopied
	}
	return o.DeepCopyObject(), nil
}
