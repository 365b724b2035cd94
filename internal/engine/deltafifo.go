package engine

import "sync"

// Merge says when a queue may leave out states in the middle.
type Merge uint8

const (
	// Every delivers every change until the queue is longer than its limit.
	Every Merge = iota
	// Latest always merges: of the changes that wait, one per object is
	// delivered, from the state last delivered to the newest.
	Latest
)

// DeltaFIFO is a subscriber's queue: deltas in the order of the server, merged per
// key when there are more than the limit, or when they weigh more than weightLimit. It
// is what makes a slow subscriber cost what the live objects cost, however many
// changes it missed.
//
// Batches are shared by all queues; only merging makes a copy. A queue of Latest
// merges each delta as it comes, and has no batches.
type DeltaFIFO struct {
	limit int
	wake  chan struct{} // holds one token while there may be something to take

	mu      sync.Mutex
	latest  *merger // nil for Every
	batches [][]Delta
	waiting int
	weight  int64 // of what waits in batches
	mergeAt int   // merge when more than this many wait
	heavyAt int64 // merge when what waits weighs more than this
	merged  uint64
	room    chan struct{} // closed when there is room again; nil if nobody waits for it
	slow    bool          // it had no room in time, and has not caught up since
}

const (
	defaultLimit = 1024
	// weightLimit is what deltas may weigh that wait and are not merged.
	weightLimit = 16 << 20
	// takeAtMost and takeWeight bound what a subscriber holds outside the reach of
	// merging.
	takeAtMost = 256
	takeWeight = 1 << 20
)

func newDeltaFIFO(m Merge, limit int) *DeltaFIFO {
	if limit <= 0 {
		limit = defaultLimit
	}
	q := &DeltaFIFO{limit: limit, mergeAt: limit, heavyAt: weightLimit, wake: make(chan struct{}, 1)}
	if m == Latest {
		q.latest = newMerger(0)
	}
	return q
}

// push appends a batch, which is not changed afterwards by anybody, and returns how
// many deltas were merged for it. In a list there is nothing to merge: no object is
// updated twice in it.
func (q *DeltaFIFO) push(batch []Delta, list bool) (merged int) {
	q.mu.Lock()
	before := q.merged
	if q.latest != nil {
		for _, d := range batch {
			q.latest.add(d)
		}
		q.merged += uint64(q.waiting + len(batch) - q.latest.waiting)
		q.waiting = q.latest.waiting
	} else {
		q.batches = append(q.batches, batch)
		q.waiting += len(batch)
		q.weight += weigh(batch)
		if (q.waiting > q.mergeAt || q.weight > q.heavyAt) && !(list && len(q.batches) == 1) {
			q.mergeLocked()
		}
	}
	merged = int(q.merged - before)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return merged
}

// take removes and returns the next few deltas; nil if none wait.
func (q *DeltaFIFO) take() []Delta {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.latest != nil {
		// One at a time: what is taken is out of the reach of merging.
		taken := q.latest.pop()
		q.waiting -= len(taken)
		return taken
	}
	if len(q.batches) == 0 {
		return nil
	}
	first := q.batches[0]
	n, weight := 0, int64(0)
	for n < min(len(first), takeAtMost) && weight < takeWeight {
		weight += first[n].weight()
		n++
	}
	q.weight -= weight
	if n == len(first) {
		q.batches[0] = nil
		q.batches = q.batches[1:]
	} else {
		q.batches[0] = first[n:]
	}
	q.waiting -= n
	// What is gone does not count for the next merge: it is due when the least that
	// has waited since the last one has doubled.
	q.mergeAt = max(q.limit, min(q.mergeAt, 2*q.waiting))
	q.heavyAt = max(weightLimit, min(q.heavyAt, 2*q.weight))
	if q.roomyLocked() && q.room != nil {
		close(q.room)
		q.room = nil
	}
	if q.waiting == 0 {
		q.slow = false
	}
	return first[:n]
}

// roomyLocked reports whether the queue is at most half full.
func (q *DeltaFIFO) roomyLocked() bool { return q.waiting <= q.limit/2 && q.weight <= weightLimit/2 }

// giveBack puts back what was taken and not delivered.
func (q *DeltaFIFO) giveBack(rest []Delta) {
	if len(rest) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting += len(rest)
	if q.latest == nil {
		q.batches = append([][]Delta{rest}, q.batches...)
		q.weight += weigh(rest)
		return
	}
	later := q.latest
	q.latest = newMerger(later.waiting + len(rest))
	for _, d := range append(rest, later.all()...) {
		q.latest.add(d)
	}
	q.waiting = q.latest.waiting
}

// Len is the number of deltas that wait.
func (q *DeltaFIFO) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// mergeLocked merges all that waits into one batch. It runs again only when the
// queue has doubled, so that a push costs the same on average.
func (q *DeltaFIFO) mergeLocked() {
	m := newMerger(q.waiting)
	for _, b := range q.batches {
		for _, d := range b {
			m.add(d)
		}
	}
	out := m.all()
	q.merged += uint64(q.waiting - len(out))
	q.batches, q.waiting, q.weight = nil, len(out), weigh(out)
	if len(out) > 0 {
		q.batches = append(q.batches, out)
	}
	q.mergeAt = max(q.limit, 2*len(out))
	q.heavyAt = max(weightLimit, 2*q.weight)
}

func weigh(batch []Delta) (n int64) {
	for i := range batch {
		n += batch[i].weight()
	}
	return n
}
