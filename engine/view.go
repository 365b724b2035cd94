package engine

import (
	"fmt"
	"hash/maphash"
	"sync"
)

// View is one way of reading records: as a typed object, as metadata only, as
// unstructured data. Views of one Collection share its watch and its bytes.
type View struct {
	// Name is for messages: the Go type, mostly.
	Name string
	// Decode makes the object of a record. It must not keep or change the
	// record's bytes.
	Decode func(*Record) (any, error)
}

// DecodeError says that a record's bytes do not make an object of a view.
type DecodeError struct {
	Key, View string
	Err       error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("cannot decode %s as %s: %v", e.Key, e.View, e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// decoding is the object that one view made of a record. A record has few
// (mostly one), so they are a list.
type decoding struct {
	view *View
	obj  any
	err  error
	next *decoding
}

// born makes r the record of an object.
func (r *Record) born(obj any) { r.decodings.Store(&decoding{obj: obj}) }

// find returns the decoding of a view, or nil.
func (d *decoding) find(v *View) *decoding {
	for ; d != nil; d = d.next {
		if d.view == v {
			return d
		}
	}
	return nil
}

// decodeLocks see to it that a record is decoded once, however many subscribers
// ask for it at the same time.
type decodeLocks [64]sync.Mutex

var decodeSeed = maphash.MakeSeed()

func (l *decodeLocks) of(r *Record) *sync.Mutex {
	return &l[maphash.String(decodeSeed, r.key)%uint64(len(l))]
}

// Decode returns a record's object in a view. It is shared: callers must not
// change it. The error is a *DecodeError.
func (c *Collection) Decode(r *Record, v *View, use Use) (any, error) {
	if r.slab == nil {
		return v.Decode(r) // there is nothing to decode, and nothing to let go
	}
	if d := r.decodings.Load().find(v); d != nil {
		c.resident.touch(r, use)
		return d.obj, d.err
	}
	mu := c.decoding.of(r)
	mu.Lock()
	defer mu.Unlock()
	first := r.decodings.Load()
	if d := first.find(v); d != nil {
		return d.obj, d.err
	}
	d := &decoding{view: v, next: first}
	obj, err := decodeContained(r, v)
	if err != nil {
		d.err = &DecodeError{Key: r.key, View: v.Name, Err: err}
		c.reject(r.key, d.err)
	} else {
		d.obj = obj
	}
	r.decodings.Store(d)
	c.resident.admit(r, use)
	return d.obj, d.err
}

// decodeContained turns a panic of a decoder or a transform into an error.
func decodeContained(r *Record, v *View) (obj any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return v.Decode(r)
}
