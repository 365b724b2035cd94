package hot

import (
	"slices"
	"time"
)

// What is held of one object, in bytes: its fields, and who changed it.
const (
	mostOfObject = 4 << 10
	mostOfText   = 256 // of one path or name
	fieldBytes   = 160
	writerBytes  = 48
)

// object is who changed an object, and which fields.
type object struct {
	kind, key string
	bytes     int64
	writers   []writer
	fields    []*field
}

// writer is a manager with the number of changes that it made.
type writer struct {
	name  string
	count uint64
}

// field is one field of an object.
type field struct {
	path  string
	count uint64
	// writer is who changed it last; turns are how often that was another one than
	// before; rivals are those who did.
	writer       string
	turns        uint64
	rivals       []writer
	since, until time.Time // of the turns
}

// note notes who has changed what. It returns how many bytes the object has grown by.
func (o *object) note(fields []Field, now time.Time) int64 {
	was := o.bytes
	var seen []string
	for _, f := range fields {
		if f.Manager != "" && !slices.Contains(seen, f.Manager) {
			seen = append(seen, f.Manager)
			o.writers = o.credit(o.writers, f.Manager)
		}
		if f.Path != "" {
			o.touch(clip(f.Path), clip(f.Manager), now)
		}
	}
	return o.bytes - was
}

// clip bounds a text. What is cut off is rarely what distinguishes two.
func clip(s string) string { return s[:min(len(s), mostOfText)] }

// credit counts a change for a manager, if there is room for another one.
func (o *object) credit(all []writer, name string) []writer {
	name = clip(name)
	for i := range all {
		if all[i].name == name {
			all[i].count++
			return all
		}
	}
	if takes := int64(writerBytes + len(name)); o.bytes+takes <= mostOfObject {
		o.bytes += takes
		all = append(all, writer{name, 1})
	}
	return all
}

// touch notes a change of a field.
func (o *object) touch(path, by string, now time.Time) {
	f := o.field(path)
	if f == nil {
		return
	}
	f.count++
	if by == "" {
		return
	}
	if f.writer != "" && f.writer != by {
		if f.turns == 0 {
			f.since = now
			f.rivals = o.credit(f.rivals, f.writer)
		}
		f.turns++
		f.until = now
		f.rivals = o.credit(f.rivals, by)
	}
	f.writer = by
}

// field returns the field of a path; nil if there is no room for it. A field that has
// changed once makes room.
func (o *object) field(path string) *field {
	for _, f := range o.fields {
		if f.path == path {
			return f
		}
	}
	takes := int64(fieldBytes + len(path))
	if o.bytes+takes > mostOfObject {
		i := slices.IndexFunc(o.fields, func(f *field) bool { return f.count < 2 })
		if i < 0 {
			return nil
		}
		o.bytes -= int64(fieldBytes + len(o.fields[i].path))
		o.fields = slices.Delete(o.fields, i, i+1)
	}
	if o.bytes+takes > mostOfObject {
		return nil
	}
	o.bytes += takes
	f := &field{path: path}
	o.fields = append(o.fields, f)
	return f
}
