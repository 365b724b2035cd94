package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/wire"
)

// Residency says for how long objects stay decoded. The zero value follows use.
type Residency int64

const (
	// Automatic: an object that readers ask for stays decoded while they keep
	// asking, within a quarter of the memory that the process may use.
	Automatic Residency = 0
	// AlwaysDecoded: every object that was decoded once stays so until it changes.
	AlwaysDecoded Residency = -1
	// NeverDecoded: objects are decoded for each reader anew.
	NeverDecoded Residency = -2
	// Any other is what decoded objects may weigh together, in bytes.
)

// Use says what an object is decoded for, and so whether it will be wanted again.
type Use uint8

const (
	// Read: somebody asked for this object, or for all of them at once.
	Read Use = iota
	// Pass: an index function looks at it, and that may be all.
	Pass
	// Told: a handler is told of it. If the object changes again soon, the handler
	// will want this state as the old one, and the next one too.
	Told
	// Sweep: it is one of many that somebody goes over. If that is done again
	// soon, it counts as Read.
	Sweep
)

const (
	// idle is the time after which an object that nobody read is let go: between
	// one and two of it.
	idle = 30 * time.Second
	// passing is how many objects that were decoded in passing are at hand. Where
	// there are several subscribers, more: the first one decodes, and those behind
	// it should find what it decoded.
	passing        = 128
	passingSeveral = 2048
	// leaving is how many states that were kept and have left the store are at
	// hand: handlers are still to get them as the old states of updates.
	leaving = 2048
	// A decoded object weighs some multiple of the bytes that the server sent; what
	// was sent as JSON is often read as maps of maps, which are heavy. Measuring each
	// would cost more than it is worth.
	weightOfProtobuf = 3
	weightOfJSON     = 10
	smallestWeight   = 256
)

// residency keeps decoded objects, and lets them go.
type residency struct {
	mode     Residency
	now      atomic.Uint32 // coarseNow of the last change
	several  atomic.Bool   // there is more than one subscriber
	released atomic.Uint64 // how many kept records were let go before they left the store

	mu     sync.Mutex
	pass   ring               // decoded in passing
	left   ring               // kept until they left the store
	active bool               // something was put on a ring since age last ran
	kept   []*Record          // decoded for readers; some may have been let go
	last   map[string]*Record // by key: the state that was decoded last, if it still is
	lists  listings
	hand   int         // where makeRoomLocked is in kept
	broom  int         // where tidyLocked is
	tick   *time.Timer // runs while there are kept ones, or much on the rings
}

// ring holds the records that were put on it last.
type ring struct {
	records []*Record
	next    int
}

// put puts a record on a ring of a size, and returns the one that has to go.
func (g *ring) put(r *Record, size int) (out *Record) {
	if len(g.records) < size {
		g.records = append(g.records, r)
		return nil
	}
	g.next %= len(g.records)
	out, g.records[g.next] = g.records[g.next], r
	g.next++
	return out
}

// empty takes everything off the ring.
func (g *ring) empty() []*Record {
	all := g.records
	*g = ring{}
	return all
}

// keptWeight is what all collections of the process keep.
var keptWeight atomic.Int64

func (r *Record) decodedWeight() int64 {
	factor := int64(weightOfProtobuf)
	if r.format == wire.JSON {
		factor = weightOfJSON
	}
	return max(int64(r.rawLen)*factor, smallestWeight)
}

// coarseNow counts periods of idle.
func coarseNow() uint32 {
	return uint32(time.Now().Unix()/int64(idle/time.Second)) & (1<<(32-stampShift) - 1)
}

// touch notes that a decoded record was read again.
func (m *residency) touch(r *Record, v *View, use Use) {
	switch {
	case use == Pass || m.mode == NeverDecoded:
	case r.use.has(kept):
		r.use.set(used)
		if use == Told {
			r.use.stamp(m.now.Load())
		}
	case use == Told && (!r.use.has(hot) || r.use.has(superseded) && r.use.has(ringed)):
		// The latter has left the store, and is at hand for all who are behind.
		r.use.stamp(m.now.Load())
	default:
		m.admit(r, v, use)
	}
}

// readers says how many subscribers there are.
func (m *residency) readers(n int) { m.several.Store(n > 1) }

// admit takes in a record that was just decoded for a view.
func (m *residency) admit(r *Record, v *View, use Use) {
	switch use {
	case Sweep:
		now := coarseNow()
		if before := r.use.stamp(now); now-before > 2 {
			use = Pass
		}
	case Told:
		r.use.stamp(m.now.Load())
		if !r.use.has(hot) {
			use = Pass
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !v.Alters {
		if m.last == nil {
			m.last = map[string]*Record{}
		}
		m.last[r.key] = r
	}
	keep := use != Pass && m.mode != NeverDecoded || m.mode == AlwaysDecoded
	switch {
	case keep && r.use.has(superseded):
		m.ringLocked(&m.left, r, leaving) // a handler is behind, and will want it as the old state
	case keep:
		m.keepLocked(r)
	default:
		m.passLocked(r)
	}
}

// beside returns another state of r's object that is decoded, or nil.
func (m *residency) beside(r *Record) *Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.last[r.key]; o != nil && o != r && o.uid == r.uid && o.format == r.format && o.slab != nil {
		return o
	}
	return nil
}

// letGoLocked lets go of a record's objects.
func (m *residency) letGoLocked(r *Record) {
	r.decodings.Store(nil)
	if m.last[r.key] == r {
		delete(m.last, r.key)
	}
}

// passLocked puts a record on the ring, and lets go of the one that it replaces.
func (m *residency) passLocked(r *Record) {
	size := passing
	if m.several.Load() {
		size = passingSeveral
	}
	m.ringLocked(&m.pass, r, size)
}

func (m *residency) ringLocked(g *ring, r *Record, size int) {
	if r.use.set(ringed) {
		return // each of many handlers asks for it
	}
	if out := g.put(r, size); out != nil {
		m.offLocked(out)
	}
	m.active = true
	if len(g.records) > passing {
		m.wakeLocked()
	}
}

// offLocked lets go of a record that is taken off a ring.
func (m *residency) offLocked(r *Record) {
	r.use.clear(ringed)
	if !r.use.has(kept) {
		m.letGoLocked(r)
	}
}

// wakeLocked sees to it that age runs.
func (m *residency) wakeLocked() {
	if m.tick == nil {
		m.tick = time.AfterFunc(idle, m.age)
	}
}

func (m *residency) keepLocked(r *Record) {
	if r.use.set(kept) || m.mode == AlwaysDecoded {
		return
	}
	r.use.set(used)
	keptWeight.Add(r.decodedWeight())
	m.kept = append(m.kept, r)
	m.wakeLocked()
	m.makeRoomLocked()
}

// makeRoomLocked lets go of what was not read for longest, while what is kept
// weighs too much: a hand goes round and spares what was read since it last came
// by.
func (m *residency) makeRoomLocked() {
	budget := int64(m.mode)
	if m.mode == Automatic {
		budget = memoryShare()
	}
	for range 2 * len(m.kept) {
		if keptWeight.Load() <= budget {
			return
		}
		m.hand %= len(m.kept)
		r := m.kept[m.hand]
		if r.use.has(kept) && r.use.clear(used) {
			m.hand++
			continue
		}
		m.releaseLocked(r)
		if m.dropLocked(m.hand); len(m.kept) == 0 {
			return
		}
	}
}

// releaseLocked lets go of a record's objects.
func (m *residency) releaseLocked(r *Record) {
	if r.use.clear(kept) {
		keptWeight.Add(-r.decodedWeight())
		m.letGoLocked(r)
		m.released.Add(1)
		m.forgetListsLocked()
	}
}

// age lets go of what nobody read since it last ran.
func (m *residency) age() {
	m.mu.Lock()
	listed := m.lists.used.Swap(false) // a list that is used counts for all
	if !listed {
		m.forgetListsLocked()
	}
	m.mu.Unlock()
	for at := 0; at >= 0; {
		at = m.ageSome(at, listed)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.active {
		for _, r := range append(m.pass.empty(), m.left.empty()...) {
			m.offLocked(r)
		}
	}
	m.active = false
	m.tick = nil
	if len(m.kept) > 0 || len(m.lists.views) > 0 || len(m.pass.records) > passing || len(m.left.records) > passing {
		m.wakeLocked()
	}
}

// ageSome does it for a few of the kept records, from a place on, so that readers do
// not have to wait long, and returns where to go on; -1 at the end.
func (m *residency) ageSome(at int, listed bool) (next int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range 256 {
		if at >= len(m.kept) {
			return -1
		}
		switch r := m.kept[at]; {
		case !r.use.has(kept):
			m.dropLocked(at)
		case !r.use.clear(used) && !listed:
			m.releaseLocked(r)
			m.dropLocked(at)
		default:
			at++
		}
	}
	return at
}

// dropLocked takes a record that was let go out of kept.
func (m *residency) dropLocked(at int) {
	last := len(m.kept) - 1
	m.kept[at], m.kept[last] = m.kept[last], nil
	m.kept = m.kept[:last]
}

// tidyLocked looks at some of the kept records and drops those that were let go. As
// it does so whenever one is, they are never many.
func (m *residency) tidyLocked() {
	for range 4 {
		if len(m.kept) == 0 {
			return
		}
		if m.broom %= len(m.kept); m.kept[m.broom].use.has(kept) {
			m.broom++
		} else {
			m.dropLocked(m.broom)
		}
	}
}

// follow notes that a state takes the place of another. If a handler was told of
// one of the object's states lately, the object changes often: its states are kept,
// so that each is decoded once.
func (m *residency) follow(r, old *Record, now uint32) {
	stamp := old.use.stamped()
	if now-stamp > 2 {
		// A handler that is behind is told of states that have left the store.
		m.mu.Lock()
		if o := m.last[r.key]; o != nil {
			stamp = o.use.stamped()
		}
		m.mu.Unlock()
	}
	if now-stamp <= 2 {
		r.use.set(hot)
		r.use.stamp(stamp)
	}
}

// supersede notes that a record has left the store. Its object stays at hand for
// a while: handlers get it as the old state.
func (m *residency) supersede(r *Record) {
	r.use.set(superseded)
	if r.slab == nil || r.decoded() == nil {
		return // an object that came as one has nothing else
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !r.use.clear(kept) {
		m.passLocked(r)
		return
	}
	if m.mode != AlwaysDecoded {
		keptWeight.Add(-r.decodedWeight())
		m.tidyLocked()
	}
	m.ringLocked(&m.left, r, leaving)
}

// move gives a record's decodings, and what is known of their use, to another one
// of the same state, which takes its place in the store.
func (m *residency) move(from, to *Record) {
	to.use.stamp(from.use.stamped())
	if from.use.has(hot) {
		to.use.set(hot)
	}
	d := from.decoded()
	if d == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from.use.set(superseded)
	to.decodings.Store(d)
	if m.last[to.key] == from {
		m.last[to.key] = to
	}
	if !from.use.clear(kept) {
		m.passLocked(to)
		return
	}
	if m.mode != AlwaysDecoded {
		keptWeight.Add(-from.decodedWeight())
		m.tidyLocked()
	}
	m.keepLocked(to)
}

// releaseAll lets go of everything.
func (m *residency) releaseAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.kept {
		m.releaseLocked(r)
	}
	for _, r := range append(m.pass.empty(), m.left.empty()...) {
		m.offLocked(r)
	}
	m.kept, m.last = nil, nil
	m.forgetListsLocked()
	if m.tick != nil {
		m.tick.Stop()
		m.tick = nil
	}
}
