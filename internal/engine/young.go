package engine

import (
	"time"

	"github.com/kinform/kinform/internal/memlimit"
	"github.com/kinform/kinform/internal/packed"
)

// An object that changes is likely to change again soon, and to be read meanwhile.
// So what a watch sends stays in the heap at first, as it came while that does not
// weigh too much, and goes outside the heap, packed, when the object has not changed
// for a while. Most states have been replaced by then.

const (
	// youngFor is for how long an object must not change: between one and two of it.
	youngFor = time.Minute
	// mostYoung is what young states may weigh in the whole process before they are
	// packed as they come.
	mostYoung = 16 << 20
	// settleAtOnce bounds how many bytes are packed at a time.
	settleAtOnce = 1 << 20
)

// youngBudget is mostYoung, or less where there is little memory.
func youngBudget() int64 { return min(mostYoung, memlimit.Available()/16) }

// youngQueue has the objects whose states in the store are young, in the order in
// which they have to be looked at.
type youngQueue struct{ waiting []youngObject }

type youngObject struct {
	key     string
	version uint64 // when it was queued
	since   time.Time
}

// holdYoung gives a record its bytes, in the heap.
func (in *ingester) holdYoung(r *Record, raw []byte) {
	if packed.Young()+int64(len(raw)) <= youngBudget() {
		r.bytes.Hold(raw)
	} else {
		in.packer.PackYoung(&r.bytes, in.likeness(), raw)
	}
	if in.held == nil || !in.held.bytes.Young() { // else its object is queued
		in.young.add(r)
	}
}

// add queues a record, unless it is queued. An object may be there more than once: it
// was deleted and made again, or changed twice in one batch. All but the entry of its
// present state are dropped when their time comes.
func (q *youngQueue) add(r *Record) {
	if !r.use.set(queued) {
		q.waiting = append(q.waiting, youngObject{r.key, r.number, time.Now()})
	}
}

// settle packs the states that are not young any more. It runs in the goroutine of
// the ingester, between two batches.
func (in *ingester) settle() {
	q := &in.young
	for len(q.waiting) > 0 {
		var settled []*Record
		for size := 0; len(q.waiting) > 0 && size < settleAtOnce; {
			first := q.waiting[0]
			if time.Since(first.since) < youngFor {
				break
			}
			q.waiting = q.waiting[1:]
			r := in.collection.Get(first.key)
			switch {
			case r == nil || !r.bytes.Young():
			case r.number != first.version:
				q.add(r)
			default:
				settled = append(settled, r)
				size += r.Size()
			}
		}
		if len(settled) == 0 {
			break
		}
		in.repack(settled)
	}
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
}
