package engine

import (
	"slices"
	"sync/atomic"
	"time"
)

// An object that changes is likely to change again soon, and to be read meanwhile.
// So what a watch sends is held as it came, and packed when it has stayed for a
// while: most states have gone by then.

const (
	// freshBudget is what fresh states may weigh in the whole process.
	freshBudget = 16 << 20
	// freshFor is for how long a state counts as fresh.
	freshFor = time.Minute
	// largestFresh is the size above which an object is packed at once.
	largestFresh = 256 << 10
)

// freshBytes is what they weigh.
var freshBytes atomic.Int64

// fresh holds the states that a watch sent last, for one ingester.
type fresh struct {
	slabs []*freshSlab // the oldest first; the last one is being filled
}

// freshSlab is a slab of fresh states, and the records that are in it.
type freshSlab struct {
	*slab
	records []*Record
	since   time.Time
}

// put holds a record's bytes as they are; false: it is too large for that.
func (f *fresh) put(r *Record, raw []byte) bool {
	if len(raw) > largestFresh {
		return false
	}
	r.rawLen, r.size, r.packing = uint32(len(raw)), uint32(len(raw)), plain
	var s *freshSlab
	if n := len(f.slabs); n > 0 {
		s = f.slabs[n-1]
	}
	if s == nil || s.used+len(raw) > len(s.mem) {
		size := smallestSlab
		if s != nil {
			size = min(2*len(s.mem), largestSlab)
		}
		s = &freshSlab{slab: newSlab(max(size, len(raw))), since: time.Now()}
		f.slabs = append(f.slabs, s)
		freshBytes.Add(int64(len(s.mem)))
	}
	r.slab, r.at = s.slab, uint32(s.used)
	s.used += copy(s.mem[s.used:], raw)
	s.records = append(s.records, r)
	return true
}

// count adds what is fresh to the sum of the process, or takes it away while nobody
// settles it.
func (f *fresh) count(sign int64) {
	for _, s := range f.slabs {
		freshBytes.Add(sign * int64(len(s.mem)))
	}
}

// settle packs what is not fresh any more. It runs in the goroutine of the
// ingester, between two batches.
func (in *ingester) settle() {
	f := &in.fresh
	for len(f.slabs) > 0 && (freshBytes.Load() > freshBudget && len(f.slabs) > 1 || time.Since(f.slabs[0].since) > freshFor) {
		s := f.slabs[0]
		f.slabs[0] = nil
		f.slabs = f.slabs[1:]
		freshBytes.Add(-int64(len(s.mem)))
		in.pack(s)
	}
}

// pack packs the records of a slab that are still in the store.
func (in *ingester) pack(s *freshSlab) {
	c := in.collection
	c.write.Lock()
	defer c.write.Unlock()
	s.records = slices.DeleteFunc(s.records, func(r *Record) bool { return c.table.get(r.key) != r })
	in.repack(s.records)
}
