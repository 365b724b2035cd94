package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/internal/packed"
)

// orphans are the ingesters of reflectors that have ended while some of their records
// stayed in the store, as another reflector covers them now. One of the others packs
// these again and looks after those that are young, so that no memory is held, or left
// out of the account, for a reflector that is not there any more.
type orphans struct {
	mu   sync.Mutex
	all  []*orphan
	some atomic.Bool // there are some
}

type orphan struct {
	in *ingester
	by *ingester // the one that takes care of it; nil: none does yet
}

// add notes ingesters whose reflectors have ended, and who took care of others.
func (o *orphans) add(left []*ingester) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, in := range left {
		for _, other := range o.all {
			if other.by == in {
				other.by = nil
			}
		}
		in.foreign = nil
		if in.packer.Memory().Live > 0 || len(in.young.waiting) > 0 {
			o.all = append(o.all, &orphan{in: in})
		}
	}
	o.some.Store(len(o.all) > 0)
}

// claim returns one that nobody takes care of, or nil.
func (o *orphans) claim(by *ingester) *ingester {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, other := range o.all {
		if other.by == nil {
			other.by = by
			return other.in
		}
	}
	return nil
}

// settled notes that nothing of an ingester is left.
func (o *orphans) settled(in *ingester) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(other *orphan) bool { return other.in == in })
	o.some.Store(len(o.all) > 0)
}

// memory returns what each of them holds.
func (o *orphans) memory() (all []packed.Memory) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, other := range o.all {
		all = append(all, other.in.packer.Memory())
	}
	return all
}

// adopt takes care of an ingester whose reflector has ended, if there is one. It runs in
// the goroutine of the ingester, between two batches.
func (in *ingester) adopt() {
	if in.foreign != nil || !in.collection.orphans.some.Load() {
		return
	}
	if in.foreign = in.collection.orphans.claim(in); in.foreign == nil {
		return
	}
	in.compactAt = 0
	q := &in.young
	q.waiting = append(q.waiting, in.foreign.young.waiting...)
	slices.SortStableFunc(q.waiting, func(a, b youngObject) int { return a.since.Compare(b.since) })
	in.foreign.young.waiting = nil
}
