package engine

import "errors"

// errOutOfOrder ends a watch after an event of which nobody can tell whether it
// comes late or again.
var errOutOfOrder = errors.New("an event came out of order, for an object whose end may have been told long ago")

// removals remembers the ends that watches have told since the last list. An event
// that is older than what the watch has reached either comes again, or it comes late:
// two events of different objects have changed places. The store tells which, but for
// objects that it does not hold.
type removals struct {
	listed    Version // the version of the last list
	at        map[string]Version
	ring      []string // the keys of at, in the order in which they were noted
	next      int
	forgotten Version // of the last one that made room for another
}

// rememberedRemovals is how many there are at most; more are only needed by a server
// that mixes up events over a longer time.
const rememberedRemovals = 1024

// reset begins anew after a list.
func (m *removals) reset(listed Version) { *m = removals{listed: listed} }

// note remembers that an object was gone at a version.
func (m *removals) note(key string, version Version) {
	if m.at == nil {
		m.at = map[string]Version{}
	}
	if _, known := m.at[key]; known {
		m.at[key] = version
		return
	}
	if len(m.ring) < rememberedRemovals {
		m.ring = append(m.ring, key)
	} else {
		out := m.ring[m.next]
		if m.forgotten.IsZero() || m.forgotten.Before(m.at[out]) {
			m.forgotten = m.at[out]
		}
		delete(m.at, out)
		m.ring[m.next] = key
		m.next = (m.next + 1) % rememberedRemovals
	}
	m.at[key] = version
}

// isLate tells whether an event that is older than what the watch has reached is news
// all the same. Held is what the store has of its object.
//
// Possible errors: errOutOfOrder.
func (m *removals) isLate(key string, version Version, held *Record) (bool, error) {
	if !m.listed.Before(version) {
		return false, nil // the list has it, or something newer
	}
	// The end may be in a batch that the store does not have yet.
	gone, known := m.at[key]
	switch {
	case known && !gone.Before(version):
		return false, nil
	case held != nil:
		return held.Version().Before(version), nil
	case known:
		return true, nil
	}
	if !m.forgotten.IsZero() && !m.forgotten.Before(version) {
		return false, errOutOfOrder
	}
	return true, nil
}
