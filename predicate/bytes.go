package predicate

import (
	"fmt"
	"reflect"

	"github.com/kinform/kinform/wire"
)

// Bound is a predicate for objects of one Go type, or of none. It is what informers use.
type Bound struct {
	of       *condition
	protobuf bool // it can be asked of protobuf
}

// Bind checks a predicate with the struct type of the objects, which may be nil for those
// that have none and come as JSON. The error names the field that the type does not have.
func (p Predicate) Bind(t reflect.Type) (*Bound, error) {
	b := &Bound{protobuf: true}
	if p.of == nil {
		return b, nil
	}
	of, err := b.bind(p.of, t)
	if err != nil {
		return nil, fmt.Errorf("predicate %q: %w", p, err)
	}
	b.of = of
	return b, nil
}

func (b *Bound) bind(c *condition, t reflect.Type) (_ *condition, err error) {
	bound := *c
	switch c.op {
	case changed:
		bound.path, bound.err = wire.ParsePart(c.text, t)
		b.protobuf = b.protobuf && bound.path.InProtobuf()
	case became:
		bound.path, bound.err = wire.ParseValue(c.text, t, wire.Text)
		b.protobuf = b.protobuf && bound.path.InProtobuf()
	}
	if bound.err != nil {
		return nil, bound.err
	}
	bound.parts = nil
	for _, part := range c.parts {
		if part, err = b.bind(part, t); err != nil {
			return nil, err
		}
		bound.parts = append(bound.parts, part)
	}
	return &bound, nil
}

// Everything reports whether every update is accepted.
func (b *Bound) Everything() bool { return b.of == nil }

// Reads reports whether the predicate can be asked of bytes in a format: protobuf is
// only understood with a type.
func (b *Bound) Reads(f wire.Format) bool {
	return f == wire.JSON || f == wire.Protobuf && b.protobuf
}

// Bytes asks of two states in a format that it reads. It allocates nothing. Values whose
// bytes differ count as changed, and may mean the same where different versions of a
// server have written them; those whose bytes are the same are the same. A state that
// cannot be read is accepted, as nobody knows what is in it.
func (b *Bound) Bytes(f wire.Format, old, now []byte) bool {
	return b.of == nil || b.of.holdsIn(f, old, now)
}

// holdsIn is holds for bytes; a function that captures them would be allocated.
func (c *condition) holdsIn(f wire.Format, old, now []byte) bool {
	switch c.op {
	case changed:
		return !c.path.Same(f, old, now)
	case became:
		was, okOld := c.path.Is(f, old, c.value)
		is, okNow := c.path.Is(f, now, c.value)
		return !okOld || !okNow || is && !was
	}
	for _, part := range c.parts {
		if part.holdsIn(f, old, now) != (c.op == allOf) {
			return c.op == anyOf
		}
	}
	return c.op == allOf
}
