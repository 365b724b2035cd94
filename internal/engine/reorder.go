package engine

import (
	"errors"
	"hash/maphash"
)

// errOutOfOrder ends a watch after an event that may be new or repeated. A list shows
// which.
var errOutOfOrder = errors.New("an event came out of order, for an object whose end may have been seen long ago")

// errDisorder ends a watch so that a list is read: the watch before it sent states
// that are older than its own start, so it is not known what a resumed one leaves out.
var errDisorder = errors.New("the server sends states that are older than its lists")

// order separates new events from repeated ones. A version orders the states of one
// object, where a server made it. Across objects it proves nothing: aggregated
// servers, servers that watch permissions (OpenShift's projects) and those that begin
// a watch with the present state send objects that were never seen with versions from
// long ago. So an event is stale only if the store has that state of the same object,
// or a newer one, or if the deletion of that object is known.
type order struct {
	removals
	// listed is the version of the last list.
	listed Version
	// apart: the list's items were newer than the list. The versions of objects and
	// of lists are not of one counter, and a watch resumes only where a list or a
	// bookmark said.
	apart bool
	// unordered: the server was found to show objects with versions from before a
	// list that did not have them.
	unordered bool
	// disordered: such an event was taken since the last list.
	disordered bool
	// doubted is what made the last relist necessary, and what was listed then.
	doubted *Record
	before  Version
}

// relisted begins again after a list whose newest item has a version. A new epoch
// gives versions again, so that nothing of before counts.
func (o *order) relisted(listed, newest Version, newEpoch bool) {
	if newEpoch {
		*o = order{unordered: o.unordered}
	}
	o.listed, o.apart, o.disordered = listed, listed.Before(newest), false
}

// settle draws the conclusion from a list that was read because of an event out of
// order. The store is what the list made of it.
func (o *order) settle(c *Collection) {
	d := o.doubted
	if o.doubted = nil; d == nil {
		return
	}
	held := c.Get(d.key)
	if held == nil || held.another(d) {
		o.note(d, d.number, true) // it came again; its end is known now
		return
	}
	// It was new. An event that was overtaken by another is newer than the list
	// before; an older state has appeared without a new version.
	if !o.before.Before(held.Version()) {
		o.unordered = true
	}
}

// isNews reports whether an event is certainly new: newer than all that the watch has
// brought.
func (o *order) isNews(r, held *Record, reached Version) bool {
	switch {
	case r.number == 0 || reached.number == 0:
		return held == nil || !r.older(held) && !held.sameState(r)
	case o.apart:
		return false
	}
	return reached.number < r.number && (held == nil || held.older(r) || held.number == 0)
}

// isStale reports whether an event that is not certainly new has a state that was seen
// before, or overtaken. Held is what the store has under its key.
//
// Possible errors: errOutOfOrder.
func (o *order) isStale(r, held *Record, gone bool) (bool, error) {
	end, known := o.at[identity(r)]
	ended := known && (r.number < end.version || r.number == end.version && end.own)
	switch {
	case ended && r.uid != uid{}:
		return true, nil
	case held != nil && !r.another(held):
		// An end may come with the version of the last state.
		return r.older(held) || !gone && held.sameState(r), nil
	case gone: // of an object that is not there
		o.note(r, r.number, true)
		return true, nil
	case o.unordered, o.apart:
		return false, nil
	case ended, held != nil, !known && !o.forgotten.IsZero() && !o.forgotten.Before(r.Version()):
		// Either it, or its end, was seen long ago; or two objects claim one name; or an
		// object without a uid was made again.
		return false, o.doubt(r)
	}
	return false, nil
}

// doubt has a list show what an event was.
func (o *order) doubt(r *Record) error {
	o.doubted, o.before = r, o.listed
	return errOutOfOrder
}

// taken notes what an applied event says about deletions.
func (o *order) taken(r, held *Record, gone bool) {
	switch {
	case gone:
		o.note(r, r.number, held == nil || held.older(r))
	case held != nil && r.another(held):
		o.note(held, max(held.number, r.number), true)
	}
	if r.number != 0 && !o.listed.Before(r.Version()) {
		o.disordered = true
	}
}

// removals remembers the most recent deletions: only a server or proxy that mixes up
// events over a long time needs more.
type removals struct {
	at        map[uint64]removal
	ring      []uint64 // the keys of at, in the order in which they were noted
	next      int
	forgotten Version // the newest of those that made room for others
}

// removal is the deletion of an object.
type removal struct {
	version uint64
	// own: the deletion had its own version. Where it came with the version of the
	// last state, the object may appear again in that same state.
	own bool
}

const (
	// removalBudget is what the remembered deletions of one reflector may weigh, and
	// removalWeight what one of them weighs: 16 bytes in the map and 8 of its key,
	// 8 in the ring, and the map's free places.
	removalBudget = 192 << 10
	removalWeight = 48

	rememberedRemovals = removalBudget / removalWeight
)

var identitySeed = maphash.MakeSeed()

// identity is that of the object of a record: another object may get its name.
func identity(r *Record) uint64 {
	return maphash.Comparable(identitySeed, struct {
		key string
		uid uid
	}{r.key, r.uid})
}

// note remembers that the object of a record was gone at a version.
func (m *removals) note(r *Record, version uint64, own bool) {
	if version == 0 {
		return // nothing can be compared with it
	}
	if m.at == nil {
		m.at = map[uint64]removal{}
	}
	id := identity(r)
	if end, known := m.at[id]; known {
		if end.version < version || end.version == version && own {
			m.at[id] = removal{version, own}
		}
		return
	}
	if len(m.ring) < rememberedRemovals {
		m.ring = append(m.ring, id)
	} else {
		out := m.ring[m.next]
		m.forget(m.at[out].version)
		delete(m.at, out)
		m.ring[m.next] = id
		m.next = (m.next + 1) % rememberedRemovals
	}
	m.at[id] = removal{version, own}
}

// forget notes that a deletion at a version is not remembered.
func (m *removals) forget(version uint64) {
	m.forgotten.number = max(m.forgotten.number, version)
}

// vanished notes the deletions that a list found: they were at its version at the
// latest.
func (m *removals) vanished(gone []*Record, listed Version) {
	if len(gone) > rememberedRemovals {
		m.forget(listed.number)
		return
	}
	for _, r := range gone {
		m.note(r, max(listed.number, r.number), true)
	}
}
