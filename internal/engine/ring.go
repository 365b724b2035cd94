package engine

import (
	"time"

	"github.com/kinform/kinform/internal/memlimit"
)

// ring holds the decoded objects that are likely to be needed again, oldest first.
type ring struct {
	entries []ringEntry
	head    int // of the oldest
	weight  int64
}

type ringEntry struct {
	record *Record
	weight int64         // beside other states of its object
	since  uint32        // coarseNow
	at     time.Duration // the same, exactly
	number uint64        // in the order in which entries were put on the rings
}

func (g *ring) len() int           { return len(g.entries) - g.head }
func (g *ring) oldest() *ringEntry { return &g.entries[g.head] }

func (g *ring) put(e ringEntry) {
	g.entries = append(g.entries, e)
	g.weight += e.weight
}

// pop takes the oldest entry off.
func (g *ring) pop() ringEntry {
	e := g.entries[g.head]
	g.entries[g.head] = ringEntry{}
	g.head++
	g.weight -= e.weight
	switch {
	case g.head == len(g.entries):
		*g = ring{}
	case g.head >= 64 && g.head*2 >= len(g.entries):
		n := copy(g.entries, g.entries[g.head:])
		clear(g.entries[n:])
		g.entries, g.head = g.entries[:n], 0
	}
	return e
}

const (
	// passing is how many objects that were decoded in passing are cached. Where there
	// are several subscribers, more: the first one decodes, and those that follow it
	// should find what it decoded.
	passing        = 128
	passingSeveral = 2048
	// The rings of a collection may weigh together what its objects weigh decoded, which
	// client-go holds all the time, a quarter more for the states that are on their way
	// out, and smallestRings; all rings of the process no more than largestRings.
	smallestRings = 4 << 20
	largestRings  = 48 << 20
	// leavingFor is for how long a state is cached that has left the store.
	leavingFor = time.Second
	// smallestShare is what a state weighs at least that shares most with another one.
	smallestShare = 1 << 10
)

// A large object is decoded faster than memory for it is found: those of more than
// largeObject bytes may only weigh mostLarge on the rings of a collection.
const (
	largeObject = 32 << 10
	mostLarge   = 8 << 20
)

// mostPassing is what all rings of the process may weigh together. Beyond that, each
// collection has an equal share.
func mostPassing() int64 { return min(largestRings, memlimit.Available()/16) }

// decodedObject is an object of which states are on rings. They share parts, which
// weigh what one whole state does, whichever are there; each further state adds what it
// does not share.
type decodedObject struct {
	states int
	whole  int64
}

// ringLocked puts a record on a ring, and evicts those that it leaves no room for.
func (m *residency) ringLocked(g *ring, r *Record) {
	if r.use.set(ringed) {
		return // it is on one
	}
	if m.pass.len()+m.hot.len() == 0 {
		decodedLedger.rings.Add(1)
	}
	m.ringedCount++
	now := time.Since(clockStart)
	g.put(ringEntry{record: r, weight: m.chargeStateLocked(r), since: coarseNow(), at: now, number: m.ringedCount})
	m.sweepLocked(now)
	most := passingSeveral
	if !m.several.Load() {
		most = passing
	}
	for m.pass.len() > most {
		m.offLocked(&m.pass)
	}
	for m.pass.len()+m.hot.len() > 1 && (m.overLocked() || r.Size() > largeObject && m.passingWeightLocked() > mostLarge) {
		m.offLocked(m.oldestLocked())
	}
	m.wakeLocked()
}

// sweepLocked looks at the oldest few entries of the hot ring, and evicts those that
// have left the store: handlers had the time to get them as old states. The others go to
// the end.
func (m *residency) sweepLocked(now time.Duration) {
	for range 4 {
		if m.hot.len() < 2 || now-m.hot.oldest().at < leavingFor {
			return
		}
		if m.hot.oldest().record.use.has(superseded) {
			m.offLocked(&m.hot)
		} else {
			e := m.hot.pop()
			e.at = now
			m.hot.put(e)
		}
	}
}

// leave evicts the states that have left the store some time ago: when nothing changes any
// more, nothing else would for long.
func (m *residency) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving = nil
	now, stay := time.Since(clockStart), 0
	for _, g := range []*ring{&m.pass, &m.hot} {
		for range g.len() {
			switch e := g.oldest(); {
			case !e.record.use.has(superseded):
				g.put(g.pop())
			case now-e.at < leavingFor:
				g.put(g.pop())
				stay++
			default:
				m.offLocked(g)
			}
		}
	}
	if stay > 0 {
		m.leaving = time.AfterFunc(2*leavingFor, m.leave)
	}
}

// oldestLocked returns the ring that has the oldest entry.
func (m *residency) oldestLocked() *ring {
	if m.hot.len() == 0 || m.pass.len() > 0 && m.pass.oldest().number < m.hot.oldest().number {
		return &m.pass
	}
	return &m.hot
}

// chargeStateLocked charges a state that is put on a ring, and returns what it weighs
// beside others of its object.
func (m *residency) chargeStateLocked(r *Record) (weight int64) {
	whole := r.weight()
	o := m.objects[r.key]
	switch d := r.decoded(); {
	case o == nil:
		o = &decodedObject{whole: whole}
		if m.objects == nil {
			m.objects = map[string]*decodedObject{}
		}
		m.objects[r.key] = o
		m.wholes += whole
		decodedLedger.passing.Add(whole)
	case d != nil && d.taken > 0:
		weight = min(max(int64(d.own), smallestShare), whole)
	default:
		weight = whole
	}
	o.states++
	decodedLedger.passing.Add(weight)
	return weight
}

// dischargeStateLocked is for a state that is taken off a ring.
func (m *residency) dischargeStateLocked(e ringEntry) {
	decodedLedger.passing.Add(-e.weight)
	o := m.objects[e.record.key]
	if o.states--; o.states == 0 {
		delete(m.objects, e.record.key)
		m.wholes -= o.whole
		decodedLedger.passing.Add(-o.whole)
	}
}

// passingWeightLocked is what the rings weigh.
func (m *residency) passingWeightLocked() int64 { return m.pass.weight + m.hot.weight + m.wholes }

// overLocked reports whether the rings weigh more than they may, or all rings do and
// these more than their share.
func (m *residency) overLocked() bool {
	own, most := m.passingWeightLocked(), mostPassing()
	return own > min(m.stored.Load()*5/4+smallestRings, most) ||
		decodedLedger.passing.Load() > most && own > most/max(decodedLedger.rings.Load(), 1)
}

// offLocked takes the oldest record off a ring, and evicts it if nothing else holds
// it.
func (m *residency) offLocked(g *ring) {
	e := g.pop()
	m.dischargeStateLocked(e)
	if m.pass.len()+m.hot.len() == 0 {
		decodedLedger.rings.Add(-1)
	}
	e.record.use.clear(ringed)
	if !e.record.use.has(kept) {
		m.evictLocked(e.record)
	}
}
