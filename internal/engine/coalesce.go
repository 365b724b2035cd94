package engine

// merger keeps, per key, what leads from the state last delivered to the newest:
// one delta, or a Deleted followed by an Added, in the order in which the keys
// first changed.
type merger struct {
	deltas  []Delta
	first   int            // where the first that waits stands
	passed  int            // how many were taken off the front of deltas
	last    map[string]int // key → the number of its latest delta
	waiting int
}

// dropped marks a delta that is left out.
const dropped Kind = 0

func newMerger(size int) *merger {
	return &merger{deltas: make([]Delta, 0, size), last: make(map[string]int, size/2)}
}

func (m *merger) add(d Delta) {
	if d.marks() {
		m.append("", d)
		return
	}
	key := d.Key()
	n, ok := m.last[key]
	if !ok {
		m.append(key, d)
		return
	}
	was := &m.deltas[n-m.passed]
	switch {
	case d.Kind == Resynced:
		// A waiting change makes the resync unnecessary, unless a filter refuses it.
		was.resync, was.Replayed = true, was.Replayed || d.Replayed
	case was.Kind == Resynced:
		d.resync, d.Replayed = true, was.Replayed
		m.drop(was)
		m.append(key, d)
	case was.Kind == Added && d.Kind == Updated, was.Kind == Updated && d.Kind == Updated:
		was.New, was.arrived = d.New, d.arrived
		was.resync, was.Replayed = was.resync || d.resync, was.Replayed || d.Replayed
	case was.Kind == Added && d.Kind == Deleted:
		// It was never delivered, or its deletion was: there is nothing to deliver.
		m.drop(was)
		delete(m.last, key)
	case was.Kind == Updated && d.Kind == Deleted:
		d.Old, d.stamp = was.Old, was.stamp
		*was = d
	case was.Kind == Deleted && d.Kind == Added:
		m.append(key, d)
	}
}

func (m *merger) append(key string, d Delta) {
	if n := len(m.deltas); n == cap(m.deltas) && n >= 64 && m.waiting < n/2 {
		m.close()
	}
	if !d.marks() {
		m.last[key] = m.passed + len(m.deltas)
	}
	m.deltas = append(m.deltas, d)
	m.waiting++
}

func (m *merger) drop(d *Delta) {
	*d = Delta{Kind: dropped}
	m.waiting--
}

// close closes the gaps that dropped deltas have left: while nobody takes any, what
// comes and goes would fill memory with them.
func (m *merger) close() {
	m.deltas = append(make([]Delta, 0, 2*m.waiting), m.all()...)
	m.passed += m.first
	m.first = 0
	for i := range m.deltas {
		if d := &m.deltas[i]; !d.marks() {
			m.last[d.Key()] = m.passed + i // of two, the latest
		}
	}
}

// pop takes the first delta; nil if none waits.
func (m *merger) pop() []Delta {
	for m.first < len(m.deltas) {
		d := m.deltas[m.first]
		number := m.passed + m.first
		m.deltas[m.first] = Delta{}
		m.first++
		if m.first > 64 && m.first*2 > len(m.deltas) {
			m.passed += m.first
			m.deltas = append(m.deltas[:0:0], m.deltas[m.first:]...)
			m.first = 0
		}
		if d.Kind == dropped {
			continue
		}
		if !d.marks() && m.last[d.Key()] == number {
			delete(m.last, d.Key())
		}
		m.waiting--
		return []Delta{d}
	}
	return nil
}

// all returns what waits. The merger must not be used after that.
func (m *merger) all() []Delta {
	kept := m.deltas[:0]
	for _, d := range m.deltas[m.first:] {
		if d.Kind != dropped {
			kept = append(kept, d)
		}
	}
	clear(m.deltas[len(kept):])
	return kept
}
