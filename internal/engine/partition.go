package engine

import (
	"container/heap"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrUnordered says that a server's resource versions cannot be compared, so that no
// version proves what the store has.
var ErrUnordered = errors.New("the server's resource versions are not ordered")

// ErrNoVersion says that a server does not have a resource version that was waited for:
// its history went back, as it was restored from a backup, or another server gave it.
var ErrNoVersion = errors.New("the server has not reached that resource version: its history went back, or it is another server's")

// Partition is the part of a collection that one reflector fills: a namespace,
// or all of it. It knows who waits for it.
type Partition struct {
	namespace string

	mu      sync.Mutex
	version Version
	// unordered: that a version was reached does not say that all before it was.
	unordered bool
	// unconfirmed: the version is what the disk had, and proves nothing of the server.
	unconfirmed bool
	// absent: the server does not serve the resource.
	absent  bool
	waiters waiterHeap           // those for whom the version is too low
	byKey   map[string][]*waiter // those who wait for an object
	left    bool                 // it is not part of the collection any more
	reads   uint64               // counts the consistent reads that have begun
	asking

	listed chan struct{} // closed once its first list is in the store
	ended  chan struct{} // closed once it has left
}

func newPartition(namespace string) *Partition {
	return &Partition{namespace: namespace, listed: make(chan struct{}), ended: make(chan struct{})}
}

// waiter waits for a partition to reach a version, or for one of its objects.
type waiter struct {
	version uint64
	key     string // "": no object
	uid     uid
	gone    bool // the object must not be there

	since uint64 // how many consistent reads had begun when it came
	asked bool   // the server was asked on its behalf
	place int    // in the heap; -1: it is not there
	ended bool
	err   error         // valid once done is closed
	done  chan struct{} // closed when the partition has it, or never will
}

// Version is the server's version that the store has reached in this part, or has
// passed: what happened after it has to be asked for. It is zero before the first list.
func (p *Partition) Version() Version {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// hasListed is closed once the first list of the partition is in the store.
func (p *Partition) hasListed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listed
}

// reach notes that the store has reached a version.
func (p *Partition) reach(v Version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.movedAt, p.absent = v, time.Now(), false
}

// restore notes that the store has what the disk had of a version.
func (p *Partition) restore(v Version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.unconfirmed = v, true
}

// confirm notes that what the store has reached is what the server has.
func (p *Partition) confirm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unconfirmed = false
}

// lose notes that the server does not serve the resource, so that it has no objects.
func (p *Partition) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.absent = true
}

// answer ends the waits for what the store has by now, after some changes; nil stands
// for any. Unordered says that versions prove nothing about it.
func (p *Partition) answer(c *Collection, changes []Change, unordered bool) {
	p.mu.Lock()
	p.unordered = unordered
	var look []*waiter
	for len(p.waiters) > 0 && (unordered || p.reachedLocked(p.waiters[0].version)) {
		switch w := heap.Pop(&p.waiters).(*waiter); {
		case w.key != "":
			look = append(look, w)
		case unordered:
			p.endLocked(w, ErrUnordered)
		default:
			p.endLocked(w, nil)
		}
	}
	switch {
	case len(p.byKey) == 0:
	case changes == nil:
		for _, all := range p.byKey {
			look = append(look, all...)
		}
	default:
		for _, ch := range changes {
			look = append(look, p.byKey[ch.Record.key]...)
		}
	}
	p.mu.Unlock()
	for _, w := range look {
		if p.has(c, w) {
			p.end(w, nil)
		}
	}
}

// reachedLocked reports whether the store has everything up to a version; zero stands
// for the first list.
func (p *Partition) reachedLocked(version uint64) bool {
	return !p.unordered && !p.unconfirmed && p.version.number != 0 && p.version.number >= version
}

// has reports whether the store has what a waiter waits for.
func (p *Partition) has(c *Collection, w *waiter) bool {
	p.mu.Lock()
	reached, unordered := p.reachedLocked(w.version), p.unordered
	gone := unordered || p.absent
	p.mu.Unlock()
	if w.key == "" || !w.gone && !unordered {
		return reached
	}
	held := c.Get(w.key)
	switch {
	case !w.gone: // a version orders the states of one object on every server
		return held != nil && held.number >= w.version && held.number != 0
	case held != nil && (w.uid == uid{} || held.uid == w.uid):
		return false
	}
	return reached || gone
}

func (p *Partition) isUnordered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unordered
}

// enlist has a waiter wait, until end.
//
// Possible errors: ErrUnordered, if that would be for ever; errLeft.
func (p *Partition) enlist(w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.left:
		return errLeft
	case p.unordered && w.key == "":
		return ErrUnordered
	}
	w.done, w.place, w.since = make(chan struct{}), -1, p.reads
	if w.key != "" {
		if p.byKey == nil {
			p.byKey = map[string][]*waiter{}
		}
		p.byKey[w.key] = append(p.byKey[w.key], w)
	}
	if !p.unordered && !p.reachedLocked(w.version) {
		heap.Push(&p.waiters, w)
		p.askLaterLocked()
	}
	return nil
}

// errLeft ends a wait for a partition that has left the collection. What is waited for
// may be in others.
var errLeft = errors.New("the scope has changed")

// leave ends all waits.
func (p *Partition) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	close(p.ended)
	for _, w := range slices.Clone(p.waiters) {
		p.endLocked(w, errLeft)
	}
	for _, all := range p.byKey {
		for _, w := range slices.Clone(all) {
			p.endLocked(w, errLeft)
		}
	}
}

// hasLeft reports whether the partition is not part of the collection any more.
func (p *Partition) hasLeft() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// end ends the wait of a waiter, however it went. The first end counts.
func (p *Partition) end(w *waiter, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked(w, err)
}

func (p *Partition) endLocked(w *waiter, err error) {
	if w.ended {
		return
	}
	w.ended, w.err = true, err
	close(w.done)
	if w.place >= 0 {
		heap.Remove(&p.waiters, w.place)
	}
	if w.key == "" {
		return
	}
	rest := slices.DeleteFunc(p.byKey[w.key], func(o *waiter) bool { return o == w })
	if p.byKey[w.key] = rest; len(rest) == 0 {
		delete(p.byKey, w.key)
	}
}

// beginRead returns what proved needs to know of a consistent read that begins.
func (p *Partition) beginRead() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.reads
}

// proved notes that a consistent read found the server at a version. Who has waited for
// a higher one since before the read waits for what this server never gave.
func (p *Partition) proved(v Version, read uint64) {
	if v.number == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range slices.Clone(p.waiters) {
		if w.since < read && w.version > v.number {
			p.endLocked(w, ErrNoVersion)
		}
	}
}

// waiterHeap has the waiter for the lowest version first.
type waiterHeap []*waiter

func (h waiterHeap) Len() int           { return len(h) }
func (h waiterHeap) Less(i, j int) bool { return h[i].version < h[j].version }
func (h waiterHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *waiterHeap) Push(x any) {
	w := x.(*waiter)
	w.place = len(*h)
	*h = append(*h, w)
}

func (h *waiterHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.place = -1
	return w
}
