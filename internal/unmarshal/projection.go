package unmarshal

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kinform/kinform/internal/near"
)

// Projection reads, of protobuf, some fields of a type's objects into a struct of
// another type. The names that its fields have in JSON say which; the rest is skipped
// where it lies. The result is what the whole object, written as JSON, would be read
// into.
type Projection struct {
	plan  *plan
	whole reflect.Type
}

// NewProjection returns how a struct type is read from objects of another one. Whole has
// to be a type that is generated for protobuf.
//
// The types of fields have to fit: the same type, or one of the same kind (of strings,
// booleans and numbers), or a struct that fits the struct; slices, maps and pointers of
// those. What is a pointer in whole need not be one in part; what is nil there is zero
// here. The error names the field that does not fit, and what would.
func NewProjection(part, whole reflect.Type) (*Projection, error) {
	if !reflect.PointerTo(whole).Implements(writableType) || planOf(whole) == nil {
		return nil, fmt.Errorf("fields of %s cannot be read on their own", whole)
	}
	plans.mu.Lock() // plans of whole types are made on the way
	defer plans.mu.Unlock()
	if isOwn(part) {
		return nil, fmt.Errorf("%s has a method that reads it from JSON, so its fields are not known", part)
	}
	p, err := projector{}.of(part, whole, "")
	if err == nil && p.isBroken(map[*plan]bool{}) {
		err = errors.New("a part of it can only be read with the whole")
	}
	if err != nil {
		return nil, fmt.Errorf("%s does not fit %s: %w", part, whole, err)
	}
	return &Projection{p, whole}, nil
}

// isBroken reports whether a plan leads to one that cannot be used.
func (p *plan) isBroken(seen map[*plan]bool) bool {
	if p == nil || seen[p] {
		return false
	}
	seen[p] = true
	return p.broken || slices.ContainsFunc(p.fields, func(f field) bool { return f.of.isBroken(seen) })
}

// Read decodes raw into what part points to, which must be empty and of the projection's
// type. Nothing of raw is kept.
func (p *Projection) Read(raw []byte, part any) error {
	v := reflect.ValueOf(part)
	read := func(d *decoder) error { return d.message(raw, v.UnsafePointer(), p.plan, 0) }
	if err := with(read); err != errOdd {
		return err
	}
	// The generated methods bring it into the usual form.
	v.Elem().SetZero()
	whole := reflect.New(p.whole).Interface().(writable)
	err := whole.Unmarshal(raw)
	if err == nil {
		raw, err = whole.Marshal()
	}
	if err != nil {
		return err
	}
	if err = with(read); err == errOdd {
		err = fmt.Errorf("fields of %s cannot be read", p.whole)
	}
	return err
}

// writable is what generated types have.
type writable interface {
	Message
	Marshal() ([]byte, error)
}

// projector makes the plans of a projection. Types that contain themselves find the plan
// that is being made.
type projector map[[2]reflect.Type]*plan

// of returns the plan of a struct, to be read from another one at a path.
func (j projector) of(part, whole reflect.Type, path string) (*plan, error) {
	if p := j[[2]reflect.Type{part, whole}]; p != nil {
		return p, nil
	}
	p := &plan{}
	j[[2]reflect.Type{part, whole}] = p
	return p, j.add(p, part, 0, whole, path, map[string]bool{})
}

// add adds the fields of a struct to a plan. The struct is at an offset in the one that
// the plan is for, of which used has the names.
func (j projector) add(p *plan, part reflect.Type, offset uintptr, whole reflect.Type, path string, used map[string]bool) error {
	for sf := range part.Fields() {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		inlined := sf.Anonymous && sf.Type.Kind() == reflect.Struct
		switch {
		case name == "-" && options == "", name == "" && sf.Type == typeMetaType:
			continue
		case sf.Anonymous && sf.Type.Kind() == reflect.Pointer:
			return fmt.Errorf("%s%s: an embedded pointer is not served", path, sf.Name)
		case !sf.IsExported() && !inlined:
			continue
		case inlined && name == "":
			if isOwn(sf.Type) {
				return fmt.Errorf("%s%s has a method that reads it from JSON, so its fields are not known", path, sf.Name)
			}
			if err := j.add(p, sf.Type, offset+sf.Offset, whole, path, used); err != nil {
				return err
			}
			continue
		case name == "":
			name = sf.Name
		}
		at := path + name
		if strings.Contains(","+options+",", ",string,") {
			return fmt.Errorf("%s: the option \"string\" is not served", at)
		}
		if used[name] {
			return fmt.Errorf("%s: the name is used twice", at)
		}
		used[name] = true
		into, from, ok := find(p, part, whole, name)
		if !ok {
			return fmt.Errorf("%s: %s has no such field%s", at, whole, meant(whole, name))
		}
		f, err := j.fit(sf.Type, from.Type, at)
		if err != nil {
			return err
		}
		number, ok := parseTag(from.Tag.Get("protobuf"))
		if !ok {
			return fmt.Errorf("%s: the field is not a part of %s in protobuf", at, whole)
		}
		f.offset = offset + sf.Offset
		into.set(number, f)
	}
	return nil
}

// find finds the field of a struct that has a name in JSON, and the plan that it belongs
// to: what is inlined in JSON is a message of its own in protobuf, whose fields go into
// the same struct.
func find(p *plan, part, whole reflect.Type, name string) (into *plan, from reflect.StructField, ok bool) {
	for sf := range whole.Fields() {
		own, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case own == name && own != "" && own != "-":
			return p, sf, true
		case own != "" || !sf.Anonymous || sf.Type.Kind() != reflect.Struct || sf.Type == typeMetaType:
			continue
		}
		number, hasNumber := parseTag(sf.Tag.Get("protobuf"))
		if _, _, there := find(&plan{}, part, sf.Type, name); !there || !hasNumber {
			continue
		}
		inner := p.at(number)
		if inner.op == skip {
			inner = field{op: opMessage, wire: wireBytes, of: &plan{}, typ: part}
			p.set(number, inner)
		}
		return find(inner.of, part, sf.Type, name)
	}
	return nil, from, false
}

// at returns the field of a number.
func (p *plan) at(number int) field {
	if number >= len(p.fields) {
		return field{}
	}
	return p.fields[number]
}

// set sets the field of a number.
func (p *plan) set(number int, f field) {
	for len(p.fields) <= number {
		p.fields = append(p.fields, field{})
	}
	p.fields[number] = f
}

// meant names the fields that may have been meant.
func meant(whole reflect.Type, name string) string {
	var known []string
	for other := range namesOf(whole, nil) {
		known = append(known, other)
	}
	return near.Hint(name, known)
}

// fit returns how a field of one type is decoded into a field of another.
func (j projector) fit(part, whole reflect.Type, path string) (field, error) {
	f, err := j.fitting(part, whole, path)
	switch {
	case err != nil || f.op != skip:
	case part == whole:
		err = fmt.Errorf("%s: a %s cannot be read on its own", path, part)
	default:
		err = fmt.Errorf("%s: a %s cannot be read from a %s", path, part, whole)
	}
	return f, err
}

// fitting is fit; a field to skip stands for types that do not fit.
func (j projector) fitting(part, whole reflect.Type, path string) (field, error) {
	if part == whole {
		return fieldOf(whole), nil
	}
	if whole.Kind() == reflect.Pointer && part.Kind() != reflect.Pointer {
		return j.fitting(part, whole.Elem(), path) // none is zero
	}
	if part.Kind() != whole.Kind() || isOwn(part) || isOwn(whole) {
		return field{}, nil
	}
	switch part.Kind() {
	case reflect.Struct:
		of, err := j.of(part, whole, path+".")
		return field{op: opMessage, wire: wireBytes, of: of, typ: part}, err
	case reflect.Pointer:
		f, err := j.fitting(part.Elem(), whole.Elem(), path)
		if f.op = pointerTo[f.op]; f.op != skip {
			f.typ = part.Elem()
		}
		return f, err
	case reflect.Slice:
		if part.Elem().Kind() == reflect.Uint8 || whole.Elem().Kind() == reflect.Pointer {
			return field{}, nil
		}
		f, err := j.fitting(part.Elem(), whole.Elem(), path)
		if f.op = sliceOf[f.op]; f.op != skip {
			f.typ, f.size = part, part.Elem().Size()
		}
		return f, err
	case reflect.Map:
		of := mapOf(part)
		if of.op != mapOf(whole).op || isOwn(part.Key()) || isOwn(part.Elem()) && part.Elem() != whole.Elem() {
			return field{}, nil
		}
		return of, nil
	}
	return single(part), nil
}

var (
	writableType   = reflect.TypeFor[writable]()
	textReaderType = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()
	jsonReaderType = reflect.TypeFor[json.Unmarshaler]()
)

// isOwn reports whether a type reads itself, or is read by code of its own here. It fits
// only itself.
func isOwn(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	if t.Kind() == reflect.Pointer {
		return false // what it points to says
	}
	if p.Implements(jsonReaderType) || p.Implements(textReaderType) || t == timeType || t == quantityType {
		return true
	}
	return t.Kind() != reflect.Struct && p.Implements(messageType)
}
