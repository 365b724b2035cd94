package engine

// Forget evicts the objects that were made of a record, and those that they may have
// parts in common with: the next reader gets new ones, made of the bytes.
func (c *Collection) Forget(r *Record) {
	if r.bytes.None() {
		return // an object that came as one has nothing else
	}
	m := &c.resident
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.last[r.key]; o != nil {
		m.evictLocked(o)
	}
	m.evictLocked(r)
	m.forgetListsLocked()
}
