package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// segment is a part of a path as it is written.
type segment struct {
	name  string
	where *where
}

// way is what a path leads through, in the type of the objects.
type way struct {
	end  reflect.Type // nil for objects of no type
	list string       // the first list of which all elements are meant, if any
}

// parsePath returns what the path leads through, too.
func parsePath(text string, t reflect.Type) (p Path, w way, err error) {
	segments, err := splitPath(text)
	p.text, w.end = text, t
	for i, s := range segments {
		if err == nil {
			err = p.add(&w, s, i == len(segments)-1)
		}
	}
	if err != nil {
		return Path{}, way{}, fmt.Errorf("path %q: %w", text, err)
	}
	return p, w, nil
}

// add adds a segment. The last one may lead to a list.
func (p *Path) add(w *way, s segment, last bool) (err error) {
	steps := []step{{name: s.name}}
	if w.end != nil {
		if steps, w.end, err = stepInto(w.end, s.name); err != nil {
			return err
		}
		if s.where, err = s.where.in(w.end, s.name); err != nil {
			return err
		}
		if isList(w.end) && s.where == nil && !last && w.list == "" {
			w.list = s.name
		}
		p.many = isList(w.end) || w.end.Kind() == reflect.Map
		p.plain = isPlain(w.end) && !steps[len(steps)-1].entry
	}
	steps[len(steps)-1].where = s.where
	p.steps = append(p.steps, steps...)
	return nil
}

// isPlain reports whether a type is one of values of which zero stands for none: bytes do
// not tell whether a field that is no pointer was set.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return false
	case reflect.Struct:
		return leaves[t] == leafTime || leaves[t] == leafMicroTime
	}
	return true
}

// isList reports whether a type is a list, and not bytes.
func isList(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
}

// splitPath returns the segments of a path.
func splitPath(text string) (segments []segment, err error) {
	rest := strings.TrimPrefix(text, ".")
	for rest != "" {
		var s segment
		if s.name, rest, err = splitName(rest); err != nil {
			return nil, err
		}
		if condition, ok := strings.CutPrefix(rest, "[?("); ok {
			if s.where, rest, err = splitWhere(condition); err != nil {
				return nil, err
			}
		}
		segments = append(segments, s)
		if after, ok := strings.CutPrefix(rest, "."); ok {
			if rest = after; rest == "" {
				return nil, errors.New("it ends with a dot")
			}
		} else if rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("a dot is missing before %q", rest)
		}
	}
	if segments == nil {
		return nil, errors.New("it is empty")
	}
	return segments, nil
}

// splitName takes a name, quoted or not.
func splitName(text string) (name, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, "['"); ok {
		if name, rest, ok = strings.Cut(quoted, "']"); !ok {
			return "", "", fmt.Errorf("%q has no end", "['"+quoted)
		}
	} else {
		n := strings.IndexAny(text, ".[")
		if n < 0 {
			n = len(text)
		}
		name, rest = text[:n], text[n:]
	}
	if name == "" {
		return "", "", fmt.Errorf("a name is missing before %q", rest)
	}
	return name, rest, nil
}

// splitWhere takes what stands after "[?(": @.name=="text")].
func splitWhere(text string) (w *where, rest string, err error) {
	condition, rest, ok := strings.Cut(text, ")]")
	name, value, is := strings.Cut(condition, "==")
	name, named := strings.CutPrefix(strings.TrimSpace(name), "@.")
	value = strings.TrimSpace(value)
	quoted := len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0]
	if !ok || !is || !named || name == "" || strings.ContainsAny(name, ".[") || !quoted {
		return nil, "", fmt.Errorf(`%q is not a condition such as [?(@.type=="Ready")]`, "[?("+text)
	}
	return &where{name: name, value: value[1 : len(value)-1]}, rest, nil
}

// namesOf returns the names that the fields of a struct type have in JSON.
func namesOf(t reflect.Type) (names []string) {
	for sf := range t.Fields() {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			names = append(names, name)
		case name == "" && sf.Anonymous && sf.Type.Kind() == reflect.Struct:
			names = append(names, namesOf(sf.Type)...)
		}
	}
	return names
}
