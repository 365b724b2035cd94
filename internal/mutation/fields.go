package mutation

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const mostFields = 10

// Fields returns the paths at which two objects of one type differ, ten at most, as
// they are called in JSON. It gives no values: they may be secret.
func Fields(a, b any) []string {
	var d differences
	if u, ok := a.(*unstructured.Unstructured); ok {
		if v, ok := b.(*unstructured.Unstructured); ok {
			a, b = u.Object, v.Object
		}
	}
	d.compare("", reflect.ValueOf(a), reflect.ValueOf(b), 0)
	slices.Sort(d.paths)
	return slices.Compact(d.paths)
}

type differences struct{ paths []string }

// deepest bounds the recursion: objects are trees, but a program may have made a
// cycle.
const deepest = 64

func (d *differences) add(path string) {
	if path == "" {
		path = "(the whole object)"
	}
	d.paths = append(d.paths, path)
}

func (d *differences) compare(path string, a, b reflect.Value, depth int) {
	switch {
	case len(d.paths) >= mostFields:
		return
	case !a.IsValid() || !b.IsValid():
		if a.IsValid() != b.IsValid() {
			d.add(path)
		}
		return
	case a.Type() != b.Type() || depth > deepest:
		d.add(path)
		return
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				d.add(path)
			}
			return
		}
		d.compare(path, a.Elem(), b.Elem(), depth+1)
	case reflect.Struct:
		d.structs(path, a, b, depth)
	case reflect.Map:
		d.maps(path, a, b, depth)
	case reflect.Slice, reflect.Array:
		d.lists(path, a, b, depth)
	default:
		if !same(a, b) {
			d.add(path)
		}
	}
}

func same(a, b reflect.Value) bool {
	if !a.CanInterface() || !b.CanInterface() {
		return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) // kept to itself
	}
	return equal(a.Interface(), b.Interface())
}

// equal compares as Kubernetes does: nil and empty are the same, and so are two
// ways of writing a quantity or a time. A type with unexported fields is compared as
// Go does.
func equal(a, b any) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}

func (d *differences) structs(path string, a, b reflect.Value, depth int) {
	if same(a, b) {
		return
	}
	for i := range a.NumField() {
		if f := a.Type().Field(i); !f.IsExported() || f.Anonymous && f.Type == timeType {
			d.add(path) // a time, a quantity: one value
			return
		}
	}
	for i := range a.NumField() {
		f := a.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			d.compare(path, a.Field(i), b.Field(i), depth+1)
			continue
		case name == "" || name == "-":
			name = f.Name
		}
		d.compare(join(path, name), a.Field(i), b.Field(i), depth+1)
	}
}

var timeType = reflect.TypeFor[time.Time]()

func (d *differences) maps(path string, a, b reflect.Value, depth int) {
	keys := append(a.MapKeys(), b.MapKeys()...)
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	for i, k := range keys {
		if i > 0 && keys[i-1].Equal(k) {
			continue
		}
		d.compare(join(path, fmt.Sprint(k)), a.MapIndex(k), b.MapIndex(k), depth+1)
	}
}

func (d *differences) lists(path string, a, b reflect.Value, depth int) {
	if a.Type().Elem().Kind() == reflect.Uint8 {
		if !same(a, b) {
			d.add(path)
		}
		return
	}
	if a.Len() != b.Len() {
		d.add(path)
		return
	}
	for i := range a.Len() {
		d.compare(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i), depth+1)
	}
}

// join adds a name to a path, in brackets where a dot would mislead.
func join(path, name string) string {
	switch {
	case strings.ContainsAny(name, "./"):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}
