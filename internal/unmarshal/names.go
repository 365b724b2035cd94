package unmarshal

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
)

// CheckNames returns an error if a struct, which is to be read from JSON, names a field
// that objects of a type do not have, or has a type for it that cannot be read from what
// is there. What reads itself, or is an interface, may be anything.
func CheckNames(part, whole reflect.Type) error {
	if err := (checker{}).check(part, whole, ""); err != nil {
		return fmt.Errorf("%s does not fit %s: %w", part, whole, err)
	}
	return nil
}

// checker remembers which types were compared, as types may contain themselves.
type checker map[[2]reflect.Type]bool

func (c checker) check(part, whole reflect.Type, path string) error {
	for part.Kind() == reflect.Pointer {
		part = part.Elem()
	}
	for whole.Kind() == reflect.Pointer {
		whole = whole.Elem()
	}
	pair := [2]reflect.Type{part, whole}
	if part == whole || c[pair] || isOwn(part) || isOwn(whole) || part.Kind() == reflect.Interface || whole.Kind() == reflect.Interface {
		return nil
	}
	c[pair] = true
	from, to := formOf(whole), formOf(part)
	switch {
	case from == formObject && to == formObject && part.Kind() == reflect.Struct && whole.Kind() == reflect.Struct:
		return c.fields(part, whole, path)
	case from != to:
		return fmt.Errorf("%s: a %s cannot be read from a %s", strings.TrimSuffix(path, "."), part, whole)
	case from == formArray, from == formObject && part.Kind() == reflect.Map && whole.Kind() == reflect.Map:
		return c.check(part.Elem(), whole.Elem(), path)
	}
	return nil
}

// fields checks the fields of a struct, and those that it has from others.
func (c checker) fields(part, whole reflect.Type, path string) error {
	known := map[string]reflect.Type{}
	for name, t := range namesOf(whole, nil) {
		known[name] = t
	}
	for name, t := range namesOf(part, nil) {
		from, ok := known[name]
		if !ok {
			return fmt.Errorf("%s%s: %s has no such field%s", path, name, whole, meant(whole, name))
		}
		if err := c.check(t, from, path+name+"."); err != nil {
			return err
		}
	}
	return nil
}

// namesOf yields the names that a struct has in JSON, with the types of the fields. What it
// embeds belongs to it, unless that is left out. A struct may embed a pointer to one that it
// is inside of, which adds no names.
func namesOf(t reflect.Type, leaveOut func(reflect.Type) bool, inside ...reflect.Type) iter.Seq2[string, reflect.Type] {
	inside = append(slices.Clip(inside), t)
	return func(yield func(string, reflect.Type) bool) {
		for sf := range t.Fields() {
			name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			inner := sf.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			switch {
			case sf.Tag.Get("json") == "-":
			case name == "" && sf.Anonymous && inner.Kind() == reflect.Struct:
				if leaveOut != nil && leaveOut(inner) || slices.Contains(inside, inner) {
					continue
				}
				for name, t := range namesOf(inner, leaveOut, inside...) {
					if !yield(name, t) {
						return
					}
				}
			case !sf.IsExported():
			case !yield(cmp.Or(name, sf.Name), sf.Type):
				return
			}
		}
	}
}

// NamesIn returns the paths of the fields that a struct of a program names, each after the
// one that contains it: "spec", "spec.node". Names in elements of lists count. Types of
// Kubernetes, such as metav1.ObjectMeta, are not followed: what they name exists. Nor are
// types that contain themselves.
func NamesIn(t reflect.Type) [][]string { return namesIn(t, nil, nil) }

func namesIn(t reflect.Type, path []string, inside []reflect.Type) (all [][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isOwn(t) || isKubernetes(t) || slices.Contains(inside, t) {
		return nil
	}
	inside = append(slices.Clip(inside), t)
	for name, of := range namesOf(t, isKubernetes) {
		at := append(slices.Clip(path), name)
		all = append(append(all, at), namesIn(of, at, inside)...)
	}
	return all
}

func isKubernetes(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "k8s.io/") }

// form is what a value is in JSON.
type form uint8

const (
	formObject form = iota
	formArray
	formText
	formNumber
	formBool
	formOther
)

func formOf(t reflect.Type) form {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return formObject
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return formText // in base64
		}
		return formArray
	case reflect.String:
		return formText
	case reflect.Bool:
		return formBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return formNumber
	}
	return formOther
}
