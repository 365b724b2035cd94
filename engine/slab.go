package engine

import (
	"runtime"
	"weak"
)

// Packed bytes live in slabs, outside the heap: there are many of them, they hold
// no pointers, and the garbage collector lets a heap grow to twice what lives in
// it. A slab goes when the last record in it has gone.

// slab is a piece of memory that records take parts of.
type slab struct {
	mem  []byte
	used int
	// live is how many bytes belong to records in the store. Only the writer of
	// the collection touches it.
	live int64
}

const (
	smallestSlab = 16 << 10
	largestSlab  = 1 << 20
)

func newSlab(size int) *slab {
	s := &slab{mem: mapMemory(size)}
	runtime.AddCleanup(s, unmapMemory, s.mem)
	return s
}

// arena hands out parts of slabs, to one goroutine.
type arena struct {
	current *slab
	slabs   []weak.Pointer[slab]
	grown   int // bytes of the slabs that were added since compact looked
}

// put copies bytes into a slab and returns where they are.
func (a *arena) put(b []byte) (*slab, uint32) {
	s := a.current
	switch {
	case len(b) > largestSlab/4:
		s = a.add(len(b)) // one of its own, which goes when it goes
	case s == nil:
		s = a.add(smallestSlab)
		a.current = s
	case s.used+len(b) > len(s.mem):
		s = a.add(min(2*len(s.mem), largestSlab))
		a.current = s
	}
	for s.used+len(b) > len(s.mem) {
		s = a.add(largestSlab)
		a.current = s
	}
	at := s.used
	s.used += copy(s.mem[at:], b)
	return s, uint32(at)
}

func (a *arena) add(size int) *slab {
	s := newSlab(size)
	a.grown += size
	a.slabs = append(a.slabs, weak.Make(s))
	return s
}

// held returns the slabs that are still there, and what they weigh.
func (a *arena) held() (slabs []*slab, bytes int64) {
	kept := a.slabs[:0]
	for _, w := range a.slabs {
		if s := w.Value(); s != nil {
			kept = append(kept, w)
			slabs = append(slabs, s)
			bytes += int64(len(s.mem))
		}
	}
	a.slabs = kept
	return slabs, bytes
}
