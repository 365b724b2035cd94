package engine

import (
	"slices"
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
	// Pass: a handler or an index function looks at it, and that may be all.
	Pass
	// Sweep: it is one of many that somebody goes over. If that is done again
	// soon, it counts as Read.
	Sweep
)

const (
	// idle is the time after which an object that nobody read is let go: between
	// one and two of it.
	idle = 30 * time.Second
	// passing is how many objects that were decoded in passing are at hand: for
	// the next subscriber, and as the old state of the next update.
	passing = 128
	// A decoded object weighs some multiple of the bytes that the server sent; what
	// was sent as JSON is often read as maps of maps, which are heavy. Measuring each
	// would cost more than it is worth.
	weightOfProtobuf = 3
	weightOfJSON     = 10
	smallestWeight   = 256
)

// residency keeps decoded objects, and lets them go.
type residency struct {
	mode Residency

	mu   sync.Mutex
	pass []*Record // a ring of those decoded in passing
	next int
	kept []*Record // those decoded for readers; some may have been let go
	hand int
	gone int         // how many of kept have left the store
	tick *time.Timer // runs while there are kept ones
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
	return uint32(time.Now().Unix()/int64(idle/time.Second)) & (1<<(32-sweptShift) - 1)
}

// touch notes that a decoded record was read again.
func (m *residency) touch(r *Record, use Use) {
	if use == Pass || m.mode == NeverDecoded {
		return
	}
	if r.use.has(kept) {
		r.use.set(used)
		return
	}
	m.admit(r, use)
}

// admit takes in a record that was just decoded.
func (m *residency) admit(r *Record, use Use) {
	if use == Sweep {
		now := coarseNow()
		if before := r.use.sweep(now); now-before > 2 {
			use = Pass
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := use != Pass && m.mode != NeverDecoded || m.mode == AlwaysDecoded
	if !keep || r.use.has(superseded) {
		m.passLocked(r)
		return
	}
	m.keepLocked(r)
}

// passLocked puts a record on the ring, and lets go of the one that it replaces.
func (m *residency) passLocked(r *Record) {
	if m.pass == nil {
		m.pass = make([]*Record, passing)
	}
	if out := m.pass[m.next]; out != nil && out != r && !out.use.has(kept) {
		out.decodings.Store(nil)
	}
	m.pass[m.next] = r
	m.next = (m.next + 1) % passing
}

func (m *residency) keepLocked(r *Record) {
	if r.use.set(kept) || m.mode == AlwaysDecoded {
		return
	}
	r.use.set(used)
	keptWeight.Add(r.decodedWeight())
	m.kept = append(m.kept, r)
	if m.tick == nil {
		m.tick = time.AfterFunc(idle, m.age)
	}
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
		last := len(m.kept) - 1
		m.kept[m.hand], m.kept[last] = m.kept[last], nil
		if m.kept = m.kept[:last]; last == 0 {
			return
		}
	}
}

// releaseLocked lets go of a record's objects.
func (m *residency) releaseLocked(r *Record) {
	if r.use.clear(kept) {
		keptWeight.Add(-r.decodedWeight())
		r.decodings.Store(nil)
	}
}

// age lets go of what nobody read since it last ran.
func (m *residency) age() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.kept {
		if !r.use.clear(used) {
			m.releaseLocked(r)
		}
	}
	m.tidyLocked()
	m.tick = nil
	if len(m.kept) > 0 {
		m.tick = time.AfterFunc(idle, m.age)
	}
}

// tidyLocked forgets records that were let go.
func (m *residency) tidyLocked() {
	m.kept = slices.DeleteFunc(m.kept, func(r *Record) bool { return !r.use.has(kept) })
	m.gone = 0
}

// supersede notes that a record has left the store. Its object stays at hand for
// a while: handlers get it as the old state.
func (m *residency) supersede(r *Record) {
	r.use.set(superseded)
	if r.slab == nil || r.decodings.Load() == nil {
		return // an object that came as one has nothing else
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.use.clear(kept) && m.mode != AlwaysDecoded {
		keptWeight.Add(-r.decodedWeight())
		if m.gone++; m.gone > passing && m.gone*2 > len(m.kept) {
			m.tidyLocked()
		}
	}
	m.passLocked(r)
}

// releaseAll lets go of everything.
func (m *residency) releaseAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.kept {
		m.releaseLocked(r)
	}
	m.kept, m.pass, m.next = nil, nil, 0
	if m.tick != nil {
		m.tick.Stop()
		m.tick = nil
	}
}
