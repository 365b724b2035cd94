package encode

import (
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// Codec encodes and decodes the objects of one informer, which are of one type: that
// of the first one. It is an engine.Encoder. One goroutine encodes at a time; any may
// decode. The zero value is ready for use.
type Codec struct {
	shape    atomic.Pointer[shape]
	protobuf tally
	json     tally
}

const (
	// mostFailures is how many objects in a row may fail before most others are not
	// tried any more, and tryAgain how many are left out then for each that is.
	mostFailures = 8
	tryAgain     = 64
	// slowly is how long an object may take for each of its bytes, and atLeast how long
	// in any case: far more than what is common. One that takes longer counts as
	// failed, for what is tried next.
	slowly  = time.Microsecond
	atLeast = 20 * time.Millisecond
)

// tally is how objects did in one format.
type tally struct{ failures, left int }

// isDue reports whether the next object is to be tried.
func (r *tally) isDue() bool {
	if r.failures < mostFailures {
		return true
	}
	r.left++
	return r.left%tryAgain == 0
}

func (r *tally) note(ok bool) {
	if r.failures++; ok {
		r.failures = 0
	}
}

// Encode appends the bytes of an object to dst, if they give back an equal one.
func (c *Codec) Encode(dst []byte, obj any) (raw []byte, f wire.Format, ok bool) {
	s := c.shapeOf(obj)
	if s == nil {
		return dst, 0, false
	}
	if s.speaksProtobuf {
		if raw, ok := c.protobuf.try(s, dst, obj, wire.Protobuf); ok {
			return raw, wire.Protobuf, true
		}
	}
	raw, ok = c.json.try(s, dst, obj, wire.JSON)
	return raw, wire.JSON, ok
}

// try encodes an object and proves it.
func (r *tally) try(s *shape, dst []byte, obj any, f wire.Format) (raw []byte, ok bool) {
	if !r.isDue() {
		return dst, false
	}
	began := time.Now()
	raw, err := s.encode(dst, obj, f)
	ok = err == nil && s.proves(raw[len(dst):], obj, f)
	r.note(ok && time.Since(began) < atLeast+time.Duration(len(raw))*slowly)
	if !ok {
		return dst, false
	}
	return raw, true
}

// EncodeAs appends the bytes of an object, which need not give it back.
func (c *Codec) EncodeAs(dst []byte, obj any, f wire.Format) (raw []byte, ok bool) {
	s := c.shapeOf(obj)
	if s == nil || f == wire.Protobuf && !s.speaksProtobuf {
		return dst, false
	}
	raw, err := s.encode(dst, obj, f)
	if err != nil {
		return dst, false
	}
	return raw, true
}

// errNoType: there are bytes, and nothing was ever encoded.
var errNoType = errors.New("encode: the type of the object is not known")

// DecodeBytes makes an object of what Encode or EncodeAs has appended.
func (c *Codec) DecodeBytes(raw []byte, f wire.Format) (any, error) {
	s := c.shape.Load()
	if s == nil {
		return nil, errNoType
	}
	return s.decode(raw, f)
}

// Decode makes an object of the bytes of a record that Encode made.
func (c *Codec) Decode(r *engine.Record) (any, error) {
	s := c.shape.Load()
	if s == nil {
		return nil, errNoType
	}
	return s.decodeRecord(r)
}

// shapeOf returns the shape of an object, if it is of the codec's type.
func (c *Codec) shapeOf(obj any) *shape {
	s := c.shape.Load()
	if s == nil {
		if s = newShape(reflect.TypeOf(obj)); s == nil {
			return nil
		}
		c.shape.Store(s)
	}
	if reflect.TypeOf(obj) != s.pointer {
		return nil
	}
	return s
}
