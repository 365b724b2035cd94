package packed

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/kinform/kinform/internal/memlimit"
)

// slab is a piece of memory in which bytes are held: that of one state in the heap,
// or of many outside it.
type slab struct {
	mem     []byte
	used    int
	mapping *mapping // nil if it is in the heap
}

// mapping is what is known of a slab outside the heap. It outlives the slab, until
// the memory is given back.
type mapping struct {
	mem     []byte
	live    atomic.Int64 // how many bytes belong to states in a store
	gone    atomic.Bool  // the memory was given back
	account *account     // of the packer
}

const (
	smallestSlab = 16 << 10
	largestSlab  = 1 << 20
)

// heapSlab returns a slab with a copy of some bytes.
func heapSlab(b []byte) *slab {
	mem := make([]byte, len(b))
	copy(mem, b)
	return &slab{mem: mem, used: len(mem)}
}

// mapSlab returns an empty slab outside the heap.
func mapSlab(size int, of *account) *slab {
	m := &mapping{mem: mapMemory(size), account: of}
	s := &slab{mem: m.mem, mapping: m}
	of.mapped.Add(int64(size))
	process.mapped.Add(int64(size))
	runtime.AddCleanup(s, unmap, m)
	memlimit.Reserve(process.mapped.Load())
	pace.grown()
	return s
}

// unmap gives the memory of a slab back that nothing refers to any more.
func unmap(m *mapping) {
	live := m.live.Load() // of a store that nothing refers to any more either
	for _, a := range []*account{m.account, &process} {
		a.mapped.Add(-int64(len(m.mem)))
		a.live.Add(-live)
	}
	m.gone.Store(true)
	unmapMemory(m.mem)
	memlimit.Reserve(process.mapped.Load())
}

// arena hands out parts of slabs outside the heap, to one goroutine.
type arena struct {
	shared  atomic.Pointer[account] // nil before the first slab
	current *slab
	// slabs are known by their mappings: a weak pointer that is looked at while the
	// collector runs keeps alive what it points to.
	slabs []*mapping
	grown int   // bytes of the slabs that were added since Sparse last looked
	lived int64 // bytes that were in a store when it did
}

// put copies bytes into a slab and returns where they are.
func (a *arena) put(b []byte) (*slab, uint32) {
	if len(b) > largestSlab/4 {
		s := a.add(len(b)) // its own slab, which is unmapped with it
		s.used = copy(s.mem, b)
		return s, 0
	}
	size := smallestSlab
	for a.current == nil || a.current.used+len(b) > len(a.current.mem) {
		if a.current != nil {
			size = min(2*len(a.current.mem), largestSlab)
		}
		a.current = a.add(max(size, min(2*len(b), largestSlab)))
	}
	s := a.current
	at := s.used
	s.used += copy(s.mem[at:], b)
	return s, uint32(at)
}

func (a *arena) add(size int) *slab {
	if a.shared.Load() == nil {
		a.shared.Store(new(account))
	}
	s := mapSlab(size, a.shared.Load())
	a.grown += size
	if len(a.slabs) == cap(a.slabs) {
		a.held() // before more room is made, make do with that of those that are gone
	}
	a.slabs = append(a.slabs, s.mapping)
	return s
}

// held returns the slabs that are still there, and what they weigh.
func (a *arena) held() (slabs []*mapping, bytes int64) {
	a.slabs = slices.DeleteFunc(a.slabs, func(m *mapping) bool { return m.gone.Load() })
	for _, m := range a.slabs {
		bytes += int64(len(m.mem))
	}
	return a.slabs, bytes
}
