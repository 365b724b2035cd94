package engine

import "github.com/kinform/kinform/internal/memlimit"

// ring holds the decoded objects that are likely to be wanted once more, oldest
// first.
type ring struct {
	entries []ringEntry
	head    int // of the oldest
	weight  int64
}

type ringEntry struct {
	record *Record
	weight int64
	since  uint32 // coarseNow
	shares bool   // it shares parts with other states
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
	// The rings of a collection may weigh together what its objects weigh decoded,
	// which client-go holds all the time, within these bounds.
	smallestRings = 4 << 20
	largestRings  = 48 << 20
	// smallestShare is what a state weighs at least that shares most with another one.
	smallestShare = 1 << 10
)

// mostPassing is what all rings of the process may weigh together. Beyond that, each
// collection has an equal share.
func mostPassing() int64 { return min(largestRings, memlimit.Available()/16) }

// sharing is an object of which several states are on rings that share parts. The
// parts weigh what one whole state does, whichever are there.
type sharing struct {
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
	e := ringEntry{record: r, weight: r.decodedWeight(), since: coarseNow()}
	if d := r.decoded(); d != nil && d.taken > 0 {
		e.shares = true
		e.weight = m.shareLocked(r, int64(d.fresh), e.weight)
	}
	g.put(e)
	decodedLedger.passing.Add(e.weight)
	most := passingSeveral
	if g == &m.pass && !m.several.Load() {
		most = passing
	}
	for g.len() > 1 && (g.len() > most || m.overLocked()) {
		m.offLocked(g)
	}
	m.wakeLocked()
}

// shareLocked notes that one more state of an object is on a ring that shares parts
// with others, and returns what it weighs beside them.
func (m *residency) shareLocked(r *Record, fresh, whole int64) int64 {
	s := m.shared[r.key]
	if s == nil {
		s = &sharing{whole: whole}
		if m.shared == nil {
			m.shared = map[string]*sharing{}
		}
		m.shared[r.key] = s
		m.sharedWeight += whole
		decodedLedger.passing.Add(whole)
	}
	s.states++
	return min(max(fresh*weightOfProtobuf, smallestShare), whole)
}

// unshareLocked takes a state off that shares parts with others.
func (m *residency) unshareLocked(r *Record) {
	s := m.shared[r.key]
	if s.states--; s.states == 0 {
		delete(m.shared, r.key)
		m.sharedWeight -= s.whole
		decodedLedger.passing.Add(-s.whole)
	}
}

// passingWeightLocked is what the rings weigh.
func (m *residency) passingWeightLocked() int64 { return m.pass.weight + m.hot.weight + m.sharedWeight }

// overLocked tells whether the rings weigh more than they may, or all rings do and
// these more than their share.
func (m *residency) overLocked() bool {
	own, most := m.passingWeightLocked(), mostPassing()
	return own > min(max(m.stored.Load()*weightOfProtobuf, smallestRings), most) ||
		decodedLedger.passing.Load() > most && own > most/max(decodedLedger.rings.Load(), 1)
}

// offLocked takes the oldest record off a ring, and evicts it if nothing else holds
// it.
func (m *residency) offLocked(g *ring) {
	e := g.pop()
	decodedLedger.passing.Add(-e.weight)
	if e.shares {
		m.unshareLocked(e.record)
	}
	if m.pass.len()+m.hot.len() == 0 {
		decodedLedger.rings.Add(-1)
	}
	e.record.use.clear(ringed)
	if !e.record.use.has(kept) {
		m.evictLocked(e.record)
	}
}
