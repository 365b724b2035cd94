package engine

import (
	"errors"
	"slices"
	"sync"
)

// A program's transform may read the store that it transforms for. The objects that
// it asks for are then decoded, and transformed, inside its own call: it must neither
// wait for itself nor recurse without end.

// errOwnTransform: a transform asks for the object that it is to make.
var errOwnTransform = errors.New("the transform reads the object that it is called for")

// errDeepTransform: each of many transforms reads an object that is not made yet.
var errDeepTransform = errors.New("the transform reads objects whose transforms read others, and so on")

// deepestTransform bounds how many transforms run inside each other.
const deepestTransform = 8

// altering knows which goroutine is making which altered objects.
type altering struct {
	mu sync.Mutex
	by map[uint64][]*Record // goroutine to records, the outermost first
}

func (a *altering) begin(goroutine uint64, r *Record) (depth int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	inside := a.by[goroutine]
	switch {
	case slices.Contains(inside, r):
		return 0, errOwnTransform
	case len(inside) >= deepestTransform:
		return 0, errDeepTransform
	}
	if a.by == nil {
		a.by = map[uint64][]*Record{}
	}
	a.by[goroutine] = append(inside, r)
	return len(inside), nil
}

func (a *altering) end(goroutine uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if inside := a.by[goroutine]; len(inside) > 1 {
		a.by[goroutine] = inside[:len(inside)-1]
	} else {
		delete(a.by, goroutine)
	}
}

// decodeAltered is Decode for a view with a transform. Only the outermost call of a
// goroutine may wait for another goroutine, so that no two wait for each other.
func (c *Collection) decodeAltered(r *Record, v *View, use Use) (any, error) {
	goroutine := goroutineID()
	depth, err := c.altering.begin(goroutine, r)
	if err != nil {
		return nil, &DecodeError{Key: r.key, View: v.Name, Err: err}
	}
	defer c.altering.end(goroutine)
	if depth > 0 {
		return c.decode(r, v, use)
	}
	return c.decodeOnce(r, v, use)
}
