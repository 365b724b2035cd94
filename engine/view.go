package engine

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"sync"
	"sync/atomic"
)

// View is one way of reading records: as a typed object, as metadata only, as
// unstructured data. Views of one Collection share its watch and its bytes.
type View struct {
	// Name is for messages: the Go type, mostly.
	Name string
	// Decode makes the object of a record. It must not keep or change the
	// record's bytes.
	Decode func(*Record) (any, error)
	// Alters: Decode does more than read (a program's transform), so that parts of
	// its objects are not what the same bytes make elsewhere.
	Alters bool

	listed atomic.Pointer[listing]
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

	// beside is set instead of view, obj and err while the record is being decoded:
	// another state of its object that is decoded.
	beside *Record
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

// decoded returns the first decoding; nil if there is none.
func (r *Record) decoded() *decoding { return r.decodings.Load().real() }

func (d *decoding) real() *decoding {
	if d != nil && d.beside != nil {
		return d.next
	}
	return d
}

// Beside returns another state of r's object, and the object of a type that was
// made of it, if that is at hand. It is for View.Decode, which can take over what is
// the same in both.
func (r *Record) Beside(t reflect.Type) (*Record, any) {
	d := r.decodings.Load()
	if d == nil || d.beside == nil {
		return nil, nil
	}
	for o := d.beside.decoded(); o != nil; o = o.next {
		if o.err == nil && !o.view.Alters && reflect.TypeOf(o.obj) == t {
			return d.beside, o.obj
		}
	}
	return nil, nil
}

// decodeLocks see to it that a record is decoded once, however many subscribers
// ask for it at the same time.
type decodeLocks [64]decodeLock

type decodeLock struct {
	sync.Mutex
	busyWith atomic.Pointer[Record]
}

var decodeSeed = maphash.MakeSeed()

func (l *decodeLocks) of(r *Record) *decodeLock {
	return &l[maphash.String(decodeSeed, r.key)%uint64(len(l))]
}

// Decode returns a record's object in a view. It is shared: callers must not
// change it. The error is a *DecodeError.
func (c *Collection) Decode(r *Record, v *View, use Use) (any, error) {
	if r.slab == nil {
		return v.Decode(r) // there is nothing to decode, and nothing to let go
	}
	if d := r.decoded().find(v); d != nil {
		c.resident.touch(r, v, use)
		return d.obj, d.err
	}
	mu := c.decoding.of(r)
	if !mu.TryLock() {
		if use == Read && mu.busyWith.Load() != r {
			return c.decode(r, v, use) // whoever reads does not wait for somebody else's object
		}
		mu.Lock()
	}
	defer mu.Unlock()
	mu.busyWith.Store(r)
	first := r.decoded()
	if d := first.find(v); d != nil {
		return d.obj, d.err
	}
	if !v.Alters { // what will be altered must be nobody else's
		if other := c.resident.beside(r); other != nil {
			r.decodings.CompareAndSwap(first, &decoding{beside: other, next: first})
		}
	}
	return c.decode(r, v, use)
}

// decode is Decode for a record that nobody is known to have decoded.
func (c *Collection) decode(r *Record, v *View, use Use) (any, error) {
	d := &decoding{view: v}
	obj, err := decodeContained(r, v)
	if err != nil {
		d.err = &DecodeError{Key: r.key, View: v.Name, Err: err}
	} else {
		d.obj = obj
	}
	if known := r.publish(d); known != d {
		return known.obj, known.err // somebody was faster
	}
	if d.err != nil {
		c.reject(r.key, d.err)
	}
	c.resident.admit(r, v, use)
	return d.obj, d.err
}

// publish adds a decoding, unless there is one of the same view; that one is
// returned then.
func (r *Record) publish(d *decoding) *decoding {
	for {
		now := r.decodings.Load()
		first := now.real()
		if known := first.find(d.view); known != nil {
			return known
		}
		d.next = first
		if r.decodings.CompareAndSwap(now, d) {
			return d
		}
	}
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
