package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/memlimit"
	"github.com/kinform/kinform/internal/packed"
)

// keeper has the records that are kept decoded for readers.
type keeper struct {
	records []*Record // some may have been dropped since
	weight  atomic.Int64
	count   int       // of those that are kept
	since   time.Time // when the first of them was
	hand    int       // where shrinkLocked is in records
	broom   int       // where tidyLocked is

	shrinking atomic.Bool // shrink is about to run
}

func (k *keeper) len() int { return len(k.records) }

func (k *keeper) remove(at int) {
	last := len(k.records) - 1
	k.records[at].use.clear(enlisted)
	k.records[at], k.records[last] = k.records[last], nil
	k.records = k.records[:last]
	if last == 0 {
		k.records = nil
	}
}

// decodedLedger is what all collections of the process hold decoded.
var decodedLedger ledger

type ledger struct {
	passing atomic.Int64 // on rings
	rings   atomic.Int64 // how many collections have something on a ring
	kept    atomic.Int64 // by those with Automatic

	mu     sync.Mutex
	keeper map[*residency]bool // those with Automatic that keep something
}

// readShare is what decoded objects may weigh that collections with Automatic keep, of
// the memory that the process may use and that slabs do not: a quarter, as the heap may
// grow to twice what lives in it. Where the runtime keeps a limit (GOMEMLIMIT) it
// collects more often, so that it may be three quarters of what the rest of the heap
// leaves.
var readShare = func() int64 {
	left := max(memlimit.Available()-packed.InUse().Mapped, 0)
	if live, ok := memlimit.Live(); ok {
		return max((left-restOfHeap.of(live))/4*3, left/8)
	}
	return left / 4
}

// restOfHeap is what lives on the heap beside what is kept, as of when its size was last
// found out: what is kept since then is not part of that size.
var restOfHeap rest

type rest struct {
	sync.Mutex
	live, others int64
}

func (h *rest) of(live int64) int64 {
	h.Lock()
	defer h.Unlock()
	if live != h.live {
		h.live, h.others = live, max(live-decodedLedger.kept.Load(), 0)
	}
	return h.others
}

// charge adds what a collection with Automatic keeps.
func (l *ledger) charge(m *residency, weight int64) {
	l.kept.Add(weight)
	before := m.keeper.weight.Add(weight) - weight
	if (before == 0) == (before+weight == 0) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeper == nil {
		l.keeper = map[*residency]bool{}
	}
	if before == 0 {
		l.keeper[m] = true
	} else {
		delete(l.keeper, m)
	}
}

// fairShare is what each collection may keep when all together keep too much.
func (l *ledger) fairShare() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readShare() / int64(max(len(l.keeper), 1))
}

// shrinkOthers has those collections make room that keep more than their share.
func (l *ledger) shrinkOthers(m *residency, share int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o := range l.keeper {
		if o != m && o.keeper.weight.Load() > share && o.keeper.shrinking.CompareAndSwap(false, true) {
			go o.shrink()
		}
	}
}

// shrink makes room for other collections.
func (m *residency) shrink() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keeper.shrinking.Store(false) // who asks from now on asks for another call
	m.makeRoomLocked()
}

// charge counts what is kept; -weight what is not any more.
func (m *residency) charge(weight int64) {
	if m.mode == Automatic {
		decodedLedger.charge(m, weight)
	} else {
		m.keeper.weight.Add(weight)
	}
}

// keepLocked keeps a record for readers.
func (m *residency) keepLocked(r *Record) {
	if r.use.has(kept) {
		return
	}
	m.countLocked(r)
	r.use.set(used)
	if m.mode == AlwaysDecoded {
		return
	}
	if !r.use.set(enlisted) {
		m.keeper.records = append(m.keeper.records, r)
	}
	m.wakeLocked()
	m.makeRoomLocked()
}

// countLocked counts a record as kept.
func (m *residency) countLocked(r *Record) {
	r.use.set(kept)
	m.charge(r.weight())
	if m.keeper.count++; m.keeper.count == 1 {
		m.keeper.since = time.Now()
	}
}

// uncountLocked counts a record as kept no more, while its objects are still there, and
// reports whether it was.
func (m *residency) uncountLocked(r *Record) bool {
	if !r.use.clear(kept) {
		return false
	}
	m.keeper.count--
	m.charge(-r.weight())
	return true
}

// looks is how many kept records one that wants to be kept may push out, if nobody has
// read them since they were last looked at. Few: a program that goes over more objects
// than there is room for, again and again, would otherwise push out each just before it
// is read.
const looks = 2

// offerLocked keeps a record for readers if there is room, and reports whether it did.
// Who reads an object often soon makes room for it.
func (m *residency) offerLocked(r *Record, use Use) bool {
	if r.use.has(kept) {
		return true
	}
	weight := r.weight()
	if use == Read && weight <= m.budget() {
		for range looks {
			if !m.fullLocked(weight) || m.keeper.len() == 0 {
				break
			}
			m.lookLocked()
		}
	}
	if m.fullLocked(weight) {
		m.makeRoomLocked() // there may be less than there was
		return false
	}
	m.keepLocked(r)
	return true
}

// budget is what this collection may keep at most.
func (m *residency) budget() int64 {
	switch m.mode {
	case AlwaysDecoded:
		return math.MaxInt64
	case Automatic:
		return readShare()
	}
	return int64(m.mode)
}

// fullLocked reports whether this collection may keep no more. One that has less than
// its share of the automatic budget may; others make room for it.
func (m *residency) fullLocked(weight int64) bool {
	own := m.keeper.weight.Load() + m.templates.weight.Load() + weight
	switch m.mode {
	case AlwaysDecoded:
		return false
	case Automatic:
		return decodedLedger.kept.Load()+weight > readShare() && own > decodedLedger.fairShare()
	}
	return own > int64(m.mode)
}

// makeRoomLocked evicts what was not read for longest, while what is kept weighs too
// much.
func (m *residency) makeRoomLocked() {
	if m.mode != Automatic {
		m.shrinkLocked(int64(m.mode))
		return
	}
	over := decodedLedger.kept.Load() - readShare()
	if over <= 0 {
		return
	}
	share := decodedLedger.fairShare()
	own := m.keeper.weight.Load()
	m.shrinkLocked(max(share, own-over))
	if own <= share {
		decodedLedger.shrinkOthers(m, share)
	}
}

// shrinkLocked evicts records until those that are left weigh no more than a budget.
func (m *residency) shrinkLocked(budget int64) {
	k := &m.keeper
	for range 2 * k.len() {
		if k.weight.Load() <= budget || k.len() == 0 {
			return
		}
		m.lookLocked()
	}
}

// lookLocked looks at the record that the hand points to, and evicts it if nobody has
// read it since the hand last came by.
func (m *residency) lookLocked() {
	k := &m.keeper
	k.hand %= k.len()
	r := k.records[k.hand]
	if r.use.has(kept) && r.use.clear(used) {
		k.hand++
		return
	}
	m.releaseLocked(r)
	k.remove(k.hand)
}

// dropLocked stops keeping a record that has left the store, and reports whether it
// was kept.
func (m *residency) dropLocked(r *Record) bool {
	if !m.uncountLocked(r) {
		return false
	}
	if m.mode != AlwaysDecoded {
		m.tidyLocked()
	}
	return true
}

// releaseLocked evicts a record that is kept.
func (m *residency) releaseLocked(r *Record) {
	weight := r.weight()
	if !m.uncountLocked(r) {
		return
	}
	m.letGo += weight
	if !r.use.has(ringed) {
		m.evictLocked(r)
	}
	m.released.Add(1)
	m.forgetListsLocked()
}

// ageSome evicts a few of the records that nobody read since it last came by, from a
// place on, so that readers do not have to wait long, and returns where to continue;
// -1 at the end.
func (m *residency) ageSome(at int, listed bool) (next int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := &m.keeper
	for range 256 {
		if at >= k.len() {
			return -1
		}
		switch r := k.records[at]; {
		case !r.use.has(kept):
			k.remove(at)
		case !r.use.clear(used) && !listed:
			m.releaseLocked(r)
			k.remove(at)
		default:
			at++
		}
	}
	return at
}

// tidyLocked looks at some of the records and removes those that were dropped. As it
// does so whenever one is, they are never many.
func (m *residency) tidyLocked() {
	k := &m.keeper
	for range 4 {
		if k.len() == 0 {
			return
		}
		if k.broom %= k.len(); k.records[k.broom].use.has(kept) {
			k.broom++
		} else {
			k.remove(k.broom)
		}
	}
}
