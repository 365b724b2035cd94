package engine

import (
	"sync"
)

// residency bounds what decoded objects may weigh. Decoded records stand on a
// ring; when they weigh more than the budget, a hand goes round and lets go of
// those that nobody read since it last passed: a sweep over the whole set comes
// and goes, what is read again and again stays.
//
// Weights are those of the encoded bytes times weightOfDecoded: measuring the
// object itself would cost more than it saves.
type residency struct {
	budget int64

	mu     sync.Mutex
	ring   []resident
	hand   int
	weight int64
}

const (
	defaultResidency = 32 << 20
	weightOfDecoded  = 3
	smallestWeight   = 256
)

type resident struct {
	record *Record
	weight int64
}

// touch notes that a record was read.
func (m *residency) touch(r *Record) {
	if u := &r.used; !u.Load() {
		u.Store(true)
	}
}

// admit puts a newly decoded record on the ring and makes room for it.
func (m *residency) admit(r *Record) {
	if m.budget < 0 {
		return
	}
	w := max(int64(r.rawLen)*weightOfDecoded, smallestWeight)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.weight += w
	// Two rounds are enough: the first one clears every mark.
	for range 2 * len(m.ring) {
		if m.weight <= m.budget || len(m.ring) == 0 {
			break
		}
		m.hand %= len(m.ring)
		e := m.ring[m.hand]
		if e.record.used.CompareAndSwap(true, false) {
			m.hand++
			continue
		}
		e.record.decodings.Store(nil)
		m.weight -= e.weight
		last := len(m.ring) - 1
		m.ring[m.hand] = m.ring[last]
		m.ring[last] = resident{}
		m.ring = m.ring[:last]
	}
	m.ring = append(m.ring, resident{r, w})
}
