// Package pages keeps values in numbered places, of which a snapshot can be taken
// at any time for next to nothing: a snapshot shares the pages, and a page is copied
// the first time that it is written to after that. So a reader can go over a
// million values as of one moment, without a lock, and no writer waits for it.
package pages

import (
	"iter"
	"slices"
	"sync/atomic"
)

// Slot is the place of a value. It stays the same for as long as the value, or what
// replaces it, is there.
type Slot = uint32

// Size is how many values are copied at the first write after a snapshot.
const Size = 256

// Page is a run of values, by slot. It is changed in place unless a snapshot may
// hold it: the page of a snapshot has the same values forever.
type Page[T comparable] struct {
	epoch  uint64 // that of the Pages when the page was made
	values [Size]T
}

// Pages holds values; the zero value of T marks a free place. It has no locks: one
// goroutine may write while nobody reads, except that a Snapshot may be read at any
// time. The zero value is ready for use.
type Pages[T comparable] struct {
	list      []*Page[T]
	listEpoch uint64 // the epoch when the list was made
	epoch     atomic.Uint64
	free      []Slot
	used      int
}

// Clone returns Pages that can be changed without affecting p. Only the list of free
// places is copied.
func (p *Pages[T]) Clone() *Pages[T] {
	c := &Pages[T]{list: p.list, free: slices.Clone(p.free), used: p.used}
	c.epoch.Store(p.epoch.Add(1))
	return c
}

// Len is the number of values.
func (p *Pages[T]) Len() int { return p.used }

// Slots is the number of places, free ones included.
func (p *Pages[T]) Slots() int { return len(p.list) * Size }

// At returns the value of a slot.
func (p *Pages[T]) At(s Slot) T { return p.list[s/Size].values[s%Size] }

// PageOf returns the page of a slot.
func (p *Pages[T]) PageOf(s Slot) *Page[T] { return p.list[s/Size] }

// Add puts a value into a free place.
func (p *Pages[T]) Add(v T) Slot {
	s := p.newSlot()
	p.used++
	p.Set(s, v)
	return s
}

// Set replaces the value of a slot.
func (p *Pages[T]) Set(s Slot, v T) { p.writable(s).values[s%Size] = v }

// Remove frees a slot.
func (p *Pages[T]) Remove(s Slot) {
	var none T
	p.Set(s, none)
	p.used--
	p.free = append(p.free, s)
}

func (p *Pages[T]) newSlot() Slot {
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	// Each slot is either in use or free: the next new one follows them all.
	s := Slot(p.used)
	if int(s/Size) == len(p.list) {
		p.ownList()
		p.list = append(p.list, &Page[T]{epoch: p.epoch.Load()})
	}
	return s
}

// writable returns the page of a slot, copied first if a snapshot may hold it.
func (p *Pages[T]) writable(s Slot) *Page[T] {
	epoch := p.epoch.Load()
	at := p.list[s/Size]
	if at.epoch != epoch {
		c := *at
		c.epoch = epoch
		at = &c
		p.ownList()
		p.list[s/Size] = at
	}
	return at
}

func (p *Pages[T]) ownList() {
	if epoch := p.epoch.Load(); p.listEpoch != epoch {
		p.list = slices.Clone(p.list)
		p.listEpoch = epoch
	}
}

// Snapshot is the values at one moment.
type Snapshot[T comparable] struct{ list []*Page[T] }

// Snapshot may be taken by several readers at once, as long as nobody writes.
func (p *Pages[T]) Snapshot() Snapshot[T] {
	p.epoch.Add(1)
	return Snapshot[T]{p.list}
}

// Pages are all values of the snapshot, free places included.
func (s Snapshot[T]) Pages() []*Page[T] { return s.list }

// Values are those of a page.
func (p *Page[T]) Values() *[Size]T { return &p.values }

// At returns the value that a slot had.
func (s Snapshot[T]) At(i Slot) T { return s.list[i/Size].values[i%Size] }

// All yields the values, in the order of their slots.
func (s Snapshot[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		var none T
		for _, p := range s.list {
			for _, v := range p.values {
				if v != none && !yield(v) {
					return
				}
			}
		}
	}
}
