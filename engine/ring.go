package engine

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
	// A ring may weigh as much as the objects of its store do in their encoding, within
	// these bounds: that is a part of what client-go holds decoded all the time.
	smallestRing = 4 << 20
	largestRing  = 8 << 20
	// mostPassing is what all rings of the process may weigh together. Beyond that,
	// each has an equal share.
	mostPassing = 16 << 20
)

// ringLocked puts a record on a ring, and evicts those that it leaves no room for.
func (m *residency) ringLocked(g *ring, r *Record) {
	if r.use.set(ringed) {
		return // it is on one
	}
	if m.pass.len()+m.hot.len() == 0 {
		decodedLedger.rings.Add(1)
	}
	e := ringEntry{record: r, weight: r.decodedWeight(), since: coarseNow()}
	g.put(e)
	decodedLedger.passing.Add(e.weight)
	most := passingSeveral
	if g == &m.pass && !m.several.Load() {
		most = passing
	}
	limit := min(max(m.stored.Load(), smallestRing), largestRing)
	for g.len() > 1 && (g.len() > most || g.weight > limit || m.overShareLocked()) {
		m.offLocked(g)
	}
	m.wakeLocked()
}

// overShareLocked tells whether all rings weigh too much, and these more than their
// share.
func (m *residency) overShareLocked() bool {
	return decodedLedger.passing.Load() > mostPassing &&
		m.pass.weight+m.hot.weight > mostPassing/max(decodedLedger.rings.Load(), 1)
}

// offLocked takes the oldest record off a ring, and evicts it if nothing else holds
// it.
func (m *residency) offLocked(g *ring) {
	e := g.pop()
	decodedLedger.passing.Add(-e.weight)
	if m.pass.len()+m.hot.len() == 0 {
		decodedLedger.rings.Add(-1)
	}
	e.record.use.clear(ringed)
	if !e.record.use.has(kept) {
		m.evictLocked(e.record)
	}
}
