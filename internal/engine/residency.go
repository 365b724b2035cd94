package engine

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/memlimit"
	"github.com/kinform/kinform/wire"
)

// Residency says for how long objects stay decoded. The zero value follows use.
type Residency int64

const (
	// Automatic: an object that readers ask for stays decoded while they keep
	// asking, within a quarter of the memory that the process may use, or three
	// quarters of what the rest of the heap leaves of GOMEMLIMIT.
	Automatic Residency = 0
	// AlwaysDecoded: every object that was decoded once stays so until it changes.
	AlwaysDecoded Residency = -1
	// NeverDecoded: nothing is kept for readers; what was decoded a moment ago is shared.
	NeverDecoded Residency = -2
	// Any other is what the objects of one collection may weigh together that are kept for
	// readers, in bytes. Those on rings are not part of it.
)

// Use says what an object is decoded for, and so whether it will be needed again.
type Use uint8

const (
	// Read: somebody asked for this object.
	Read Use = iota
	// ReadAll: somebody asked for all of them at once. They are kept as those of Read
	// while there is room, but push nothing out: that would be others of the same set.
	ReadAll
	// Pass: an index function reads it, and perhaps nobody else will.
	Pass
	// Delivered: it is delivered to a handler. If the object changes again soon, the
	// handler will need this state as the old one, and the next one too.
	Delivered
	// Sweep: it is one of many in an iteration. If the iteration is repeated soon, it
	// counts as Read.
	Sweep
)

// idle is the time after which a decoded object that nobody reads is evicted: between
// one and two of it.
const idle = 30 * time.Second

// residency decides which objects of a collection stay decoded. The life of a decoded
// object:
//
//	decoded for                it is     until
//	Read(All), Sweep repeated  kept      nobody has read it for idle, or the budget is spent
//	Delivered, object is hot   on hot    so much else is hot, or idle has passed
//	Delivered, Pass, Sweep     on pass   so much else has passed, or idle has passed
//	it left the store          on hot    the same; handlers need it as the old state
//
// An object is hot if the state before it was delivered to a handler not long ago.
// With AlwaysDecoded everything in the store is kept, with NeverDecoded nothing is.
//
// What is kept is charged to the budget of readers (keeper.go), what is on a ring to
// that of passing objects (ring.go): by weight, so that a few large objects count as
// much as many small ones.
//
// mu is taken after Collection.write and Collection.mu, and no lock of the engine but
// that of decodedLedger is taken while it is held.
type residency struct {
	mode     Residency
	now      atomic.Uint32 // coarseNow of the last change
	several  atomic.Bool   // there is more than one subscriber
	released atomic.Uint64 // how many kept records were evicted before they left the store
	stored   atomic.Int64  // what all objects of the store would weigh decoded

	mu      sync.Mutex
	pass    ring
	hot     ring
	objects map[string]*decodedObject // by key: those of which states are on rings
	wholes  int64                     // what one state of each weighs
	// ringedCount is how many were put on rings.
	ringedCount uint64
	keeper      keeper
	last        map[string]*Record // by key: the state that was decoded last, if it still is
	lists       listings
	templates   templates
	records     func() iter.Seq[*Record] // of the store
	tick        *time.Timer              // runs while anything is decoded
	leaving     *time.Timer              // runs while states are on a ring that have left the store
	// letGo is what sweeps have decoded and readers do not need any longer, since age last
	// ran; garbage is the same of the period before.
	letGo, garbage int64
}

// A decoded object weighs some multiple of the bytes that the server sent; what was
// sent as JSON is often read as maps of maps, which are heavy. Measuring each would
// cost more than it is worth.
const (
	weightOfProtobuf = 3
	weightOfJSON     = 10
	smallestWeight   = 1 << 10
)

func (r *Record) decodedWeight() int64 {
	factor := int64(weightOfProtobuf)
	if r.Format() == wire.JSON {
		factor = weightOfJSON
	}
	return max(int64(r.Size())*factor, smallestWeight)
}

// clockStart is what coarseNow counts from: the monotonic clock, which nobody sets.
var clockStart = time.Now()

// coarseNow counts periods of idle. It begins above zero, the stamp of a record that
// nobody has used.
func coarseNow() uint32 { return coarse(time.Now()) }

func coarse(t time.Time) uint32 {
	return uint32(t.Sub(clockStart)/idle+8) & (1<<(32-stampShift) - 1)
}

// recently is how many periods ago something is not long ago.
const recently = 2

// place is where a decoded object is held.
type place uint8

const (
	onPass place = iota
	onHot
	inKeeper
)

// placeFor decides where an object goes that was decoded for a use; sinceUse is how
// many periods ago it was last used.
func (m *residency) placeFor(use Use, marks uint32, sinceUse uint32) place {
	wanted := use == Read || use == ReadAll ||
		use == Sweep && sinceUse <= recently ||
		use == Delivered && marks&hot != 0
	switch {
	case m.mode == AlwaysDecoded && marks&superseded == 0:
		return inKeeper
	case m.mode == NeverDecoded || !wanted && marks&superseded == 0:
		return onPass
	case use == Delivered || marks&superseded != 0:
		return onHot
	}
	return inKeeper
}

// touch notes that a decoded record was read again.
func (m *residency) touch(r *Record, v *View, use Use) {
	switch {
	case use == Pass || m.mode == NeverDecoded:
	case r.use.has(kept):
		r.use.set(used)
		if use == Delivered {
			r.use.stamp(m.now.Load())
		}
	case use == Delivered && (!r.use.has(hot) || r.use.has(ringed)):
		r.use.stamp(m.now.Load())
	default:
		m.admit(r, v, use)
	}
}

// readers says how many subscribers there are.
func (m *residency) readers(n int) { m.several.Store(n > 1) }

// admit takes in a record that was just decoded for a view.
func (m *residency) admit(r *Record, v *View, use Use) {
	now := m.now.Load()
	if use == Sweep {
		now = coarseNow()
	}
	sinceUse := uint32(0)
	if use == Sweep || use == Delivered {
		sinceUse = now - r.use.stamp(now)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.decoded() == nil {
		return // somebody has evicted it
	}
	if !v.Alters {
		if m.last == nil {
			m.last = map[string]*Record{}
		}
		m.last[r.key] = r
	}
	if m.templates.weight.Load() > 0 {
		m.wakeLocked() // they are to be compared
	}
	where := m.placeFor(use, r.use.marks(), sinceUse)
	if where == inKeeper && !m.offerLocked(r, use) {
		where = onPass
	}
	if where == onPass && use == Sweep {
		m.letGo += r.weight()
	}
	switch where {
	case onHot:
		m.ringLocked(&m.hot, r)
	case onPass:
		m.ringLocked(&m.pass, r)
	}
}

// beside returns the neighbour of r: another decoded state of its object, or nil.
func (m *residency) beside(r *Record) *Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.last[r.key]; o != nil && o != r && o.uid == r.uid && o.Format() == r.Format() && !o.bytes.None() {
		return o
	}
	return nil
}

// evictLocked drops a record's objects.
func (m *residency) evictLocked(r *Record) {
	m.uncountLocked(r)
	r.decodings.Store(nil)
	if m.last[r.key] == r {
		delete(m.last, r.key)
	}
}

// wakeLocked ensures that age runs.
func (m *residency) wakeLocked() {
	if m.tick == nil {
		m.tick = time.AfterFunc(idle, m.age)
	}
}

// age evicts what nobody has read for idle.
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
	for _, t := range m.templates.check() {
		m.evictNear(t)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.makeRoomLocked() // there may be less than there was, while nothing new is read
	now := coarseNow()
	for _, g := range []*ring{&m.pass, &m.hot} {
		for range g.len() { // they are not all in the order of their age
			if now-g.oldest().since >= recently {
				m.offLocked(g)
			} else {
				g.put(g.pop())
			}
		}
	}
	m.giveBackLocked()
	m.tick = nil
	if m.letGo+m.garbage+m.templates.weight.Load() > 0 || m.keeper.len() > 0 || len(m.lists.views) > 0 || m.pass.len() > 0 || m.hot.len() > 0 {
		m.wakeLocked()
	}
}

// giveBackLocked has the memory given back of what was let go in the period before, if
// little was since: whoever read it had the time to let go of it, and the next does not
// need as much.
func (m *residency) giveBackLocked() {
	if m.letGo <= m.garbage/8 {
		memlimit.LetGo(m.garbage)
	}
	m.garbage, m.letGo = m.letGo, 0
}

// follow notes that a state takes the place of another. If one of the object's
// states was delivered to a handler lately, the object changes often: its states are
// hot, so that each is decoded once.
func (m *residency) follow(r, old *Record, now uint32) {
	stamp := old.use.stamped()
	if now-stamp > recently {
		// A handler that lags gets states that have left the store.
		m.mu.Lock()
		if o := m.last[r.key]; o != nil {
			stamp = o.use.stamped()
		}
		m.mu.Unlock()
	}
	if now-stamp <= recently {
		r.use.set(hot)
		r.use.stamp(stamp)
	}
}

// supersede notes that a record has left the store. Its object stays for a while:
// handlers get it as the old state.
func (m *residency) supersede(r *Record) {
	r.use.set(superseded)
	if r.bytes.None() || r.decoded() == nil && !r.use.has(kept) {
		return // an object that came as one has nothing else
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropLocked(r) {
		m.staleLocked(r)
	}
	m.ringLocked(&m.hot, r)
	if m.leaving == nil {
		m.leaving = time.AfterFunc(2*leavingFor, m.leave)
	}
}

// move gives what is known of a record's use to another one of the same state, which
// takes its place in the store, and its decodings if they are kept. Those on a ring are
// not: they leave at their time.
func (m *residency) move(from, to *Record) {
	to.use.stamp(from.use.stamped())
	if from.use.has(hot) {
		to.use.set(hot)
	}
	from.use.set(superseded)
	m.mu.Lock()
	defer m.mu.Unlock()
	d := from.decoded()
	if d != nil && m.dropLocked(from) {
		to.decodings.Store(d)
		if m.last[to.key] == from {
			m.last[to.key] = to
		}
		m.keepLocked(to)
	}
	if !from.use.has(ringed) && from.decodings.Swap(nil) != nil && m.last[from.key] == from {
		delete(m.last, from.key) // others may be packed against it, and keep it alive
	}
}

// releaseAll evicts everything.
func (m *residency) releaseAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.keeper.len() > 0 {
		m.releaseLocked(m.keeper.records[0])
		m.keeper.remove(0)
	}
	for _, g := range []*ring{&m.pass, &m.hot} {
		for g.len() > 0 {
			m.offLocked(g)
		}
	}
	m.last = nil
	m.forgetListsLocked()
	for _, t := range []**time.Timer{&m.tick, &m.leaving} {
		if *t != nil {
			(*t).Stop()
			*t = nil
		}
	}
}
