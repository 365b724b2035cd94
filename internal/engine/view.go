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
	// Decode makes the object of a record. It must not keep or change the record's
	// bytes. It may take over parts of the neighbour's object, and nothing else of
	// what others can reach.
	Decode func(*Record, Neighbour) (any, error)
	// Type is that of the objects, if Decode can use neighbours. Default: it cannot.
	Type reflect.Type
	// Alters: Decode does more than read (a program's transform), so that parts of
	// its objects are not what the same bytes make elsewhere. It gets no other state as
	// a neighbour, and is none. It may get a sibling that Decode made itself, to take
	// over what is equal after all that it does.
	Alters bool
	// Apart: no two objects have parts in common, but the states of one.
	Apart bool
	// Changed is called where a reader has changed a part that objects have in common:
	// with the key of one of them, and the paths that differ. Default: nobody is told.
	Changed func(key string, fields []string)

	// unlike: objects of the view do not take over anything from templates.
	unlike atomic.Bool
	listed atomic.Pointer[listing]
}

// Neighbour is another state of the object that is decoded, and what a view of the
// same type made of it. The zero value is none.
type Neighbour struct {
	Record *Record
	Object any
	// Sibling: it is not a state of the object, but of another one that is like it.
	Sibling bool

	own *int
}

// Took says how much memory the new object has of its own, beside what it has taken
// over.
func (n Neighbour) Took(own int) {
	if n.own != nil {
		*n.own = own
	}
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

// decoding is the object that one view made of a record. A record has few (mostly
// one), so they are a list.
type decoding struct {
	view *View
	obj  any
	err  error
	next *decoding
	// taken is how many states, one after the other, have taken over parts from the
	// one before, up to this.
	taken uint8
	// arrived: nobody decoded it, it came as the object that it is.
	arrived bool
	// own is how much memory the object has that is not part of another state, if it
	// has taken over the rest; weight is how much is not part of its template.
	own, weight int
	// template is what it has parts in common with.
	template *template
}

// mostTaken bounds how many states in a row take over parts. A part that a reader has
// changed by mistake passes from state to state; this is how it ends.
const mostTaken = 63

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
func (r *Record) decoded() *decoding { return r.decodings.Load() }

// decodeLocks ensure that a record is decoded once, however many subscribers ask for
// it at the same time.
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
	if r.bytes.None() {
		return v.Decode(r, Neighbour{}) // there is nothing to decode, and nothing to evict
	}
	if d := r.decoded().find(v); d != nil {
		if use.isRead() {
			c.hit(r)
		}
		c.resident.touch(r, v, use)
		return d.obj, d.err
	}
	if use.isRead() {
		c.missed()
	}
	if v.Alters {
		return c.decodeAltered(r, v, use)
	}
	return c.decodeOnce(r, v, use)
}

// decodeOnce is Decode for a record that nobody had decoded a moment ago.
func (c *Collection) decodeOnce(r *Record, v *View, use Use) (any, error) {
	mu := c.decoding.of(r)
	if !mu.TryLock() {
		if use <= ReadAll && mu.busyWith.Load() != r {
			return c.decode(r, v, use) // a reader does not wait for the decoding of another object
		}
		mu.Lock()
	}
	defer mu.Unlock()
	mu.busyWith.Store(r)
	defer mu.busyWith.Store(nil) // or it would keep the record alive
	if d := r.decoded().find(v); d != nil {
		return d.obj, d.err
	}
	return c.decode(r, v, use)
}

// decode decodes a record and publishes the result.
func (c *Collection) decode(r *Record, v *View, use Use) (any, error) {
	d := &decoding{view: v, own: -1}
	near := c.neighbour(r, v, use, d)
	near.own = &d.own
	watch := c.stopwatch()
	obj, err := decodeContained(r, v, near)
	d.weigh(r, err)
	c.observe(Observation{Point: PointDecoded, View: v.Name, Key: r.key, Took: watch.took(), Err: err})
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
	if d.template.isChanged() {
		c.Forget(r) // too late to be found by those who evict
	}
	return d.obj, d.err
}

// neighbour returns what a view may take over parts from: another state of r's object,
// or a template. It notes in d what follows from that.
func (c *Collection) neighbour(r *Record, v *View, use Use, d *decoding) Neighbour {
	switch {
	case v.Type == nil:
		return Neighbour{}
	case v.Alters:
		if use != Pass { // it takes time, so only for what may stay
			d.template = c.resident.templates.of(r, v)
		}
		return d.template.neighbour()
	}
	if other := c.resident.beside(r); other != nil {
		for o := other.decoded(); o != nil; o = o.next {
			if o.err == nil && !o.view.Alters && o.view.Type == v.Type && o.taken < mostTaken &&
				!o.template.isChanged() && !(v.Apart && o.template != nil) {
				d.taken, d.weight, d.template = o.taken+1, int(other.weight()), o.template
				return Neighbour{Record: other, Object: o.obj}
			}
		}
	}
	d.template = c.resident.templates.of(r, v)
	return d.template.neighbour()
}

// weigh notes what a decoding weighs whose object is made: what it does not have in
// common with its template. The states before may have left it more of that than it
// shows, but never more than the whole.
func (d *decoding) weigh(r *Record, err error) {
	whole := int(r.decodedWeight())
	if d.own < 0 { // it has taken over nothing
		d.own = whole
		if d.template != nil && d.taken == 0 && err == nil {
			d.template = nil
			d.view.unlike.Store(true)
		}
	}
	d.weight = min(max(d.weight+d.own, smallestShare), whole)
}

// weight is what the objects of a record weigh that somebody has decoded, as long as they
// are there: that of the first one, as later ones are few.
func (r *Record) weight() int64 {
	d := r.decoded()
	if d == nil {
		return 0
	}
	for d.next != nil {
		d = d.next
	}
	if d.weight == 0 { // it came as the object that it is
		return r.decodedWeight()
	}
	return int64(d.weight)
}

// publish adds a decoding, unless there is one of the same view; that one is
// returned then.
func (r *Record) publish(d *decoding) *decoding {
	for {
		first := r.decodings.Load()
		if known := first.find(d.view); known != nil {
			return known
		}
		d.next = first
		if r.decodings.CompareAndSwap(first, d) {
			return d
		}
	}
}

// decodeContained turns a panic of a decoder or a transform into an error.
func decodeContained(r *Record, v *View, near Neighbour) (obj any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return v.Decode(r, near)
}
