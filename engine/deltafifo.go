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

// DeltaFIFO is a subscriber's queue: deltas in the order of the server, merged
// per key when there are more than the limit. It is what makes a slow
// subscriber cost what the live objects cost and not what happened meanwhile.
//
// Batches are shared by all queues; only merging makes a copy.
type DeltaFIFO struct {
	merge Merge
	limit int
	wake  chan struct{} // holds one token while there may be something to take

	mu      sync.Mutex
	batches [][]Delta
	waiting int
	mergeAt int // merge when more than this many wait
	merged  uint64
}

const (
	defaultLimit = 1024
	// takeAtMost bounds what a subscriber holds outside the reach of merging.
	takeAtMost = 256
)

func newDeltaFIFO(m Merge, limit int) *DeltaFIFO {
	if limit <= 0 {
		limit = defaultLimit
	}
	return &DeltaFIFO{merge: m, limit: limit, mergeAt: limit, wake: make(chan struct{}, 1)}
}

// push appends a batch, which is not changed afterwards by anybody.
func (q *DeltaFIFO) push(batch []Delta) {
	q.mu.Lock()
	q.batches = append(q.batches, batch)
	q.waiting += len(batch)
	if q.waiting > q.mergeAt {
		q.mergeLocked()
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the next few deltas; nil if none wait.
func (q *DeltaFIFO) take() []Delta {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.merge == Latest && len(q.batches) > 1 {
		q.mergeLocked() // of which nothing may remain
	}
	if len(q.batches) == 0 {
		return nil
	}
	first := q.batches[0]
	n := min(len(first), takeAtMost)
	if n == len(first) {
		q.batches[0] = nil
		q.batches = q.batches[1:]
	} else {
		q.batches[0] = first[n:]
	}
	q.waiting -= n
	return first[:n]
}

// giveBack puts back what was taken and not delivered.
func (q *DeltaFIFO) giveBack(rest []Delta) {
	if len(rest) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batches = append([][]Delta{rest}, q.batches...)
	q.waiting += len(rest)
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
	m := merger{last: make(map[string]int, q.waiting/2), out: make([]Delta, 0, q.waiting)}
	for _, b := range q.batches {
		for _, d := range b {
			m.add(d)
		}
	}
	out := m.result()
	q.merged += uint64(q.waiting - len(out))
	q.batches, q.waiting = q.batches[:0:0], len(out)
	if len(out) > 0 {
		q.batches = append(q.batches, out)
	}
	q.mergeAt = max(q.limit, 2*len(out))
}

// merger keeps, per key, what leads from the state last delivered to the newest:
// one delta, or a Deleted followed by an Added.
type merger struct {
	out  []Delta
	last map[string]int // key → where its latest delta stands in out
}

// dropped marks a delta that result leaves out.
const dropped Kind = 0

func (m *merger) add(d Delta) {
	if d.Kind == initialEnd {
		m.out = append(m.out, d)
		return
	}
	key := d.Key()
	i, ok := m.last[key]
	if !ok {
		m.append(key, d)
		return
	}
	was := &m.out[i]
	switch {
	case d.Kind == Resynced:
		// Whatever waits is news enough.
	case was.Kind == Resynced:
		was.Kind = dropped
		m.append(key, d)
	case was.Kind == Added && d.Kind == Updated, was.Kind == Updated && d.Kind == Updated:
		was.New = d.New
	case was.Kind == Added && d.Kind == Deleted:
		// Never heard of, or heard of its end: nothing to tell.
		was.Kind = dropped
		delete(m.last, key)
	case was.Kind == Updated && d.Kind == Deleted:
		d.Old = was.Old
		*was = d
	case was.Kind == Deleted && d.Kind == Added:
		m.append(key, d)
	}
}

func (m *merger) append(key string, d Delta) {
	m.last[key] = len(m.out)
	m.out = append(m.out, d)
}

func (m *merger) result() []Delta {
	kept := m.out[:0]
	for _, d := range m.out {
		if d.Kind != dropped {
			kept = append(kept, d)
		}
	}
	clear(m.out[len(kept):])
	return kept
}
