package engine

// Forget lets go of the objects that were made of a record, and of what they may have
// parts in common with: the next reader gets them anew, from the bytes.
func (c *Collection) Forget(r *Record) {
	if r.slab == nil {
		return // an object that came as one has nothing else
	}
	m := &c.resident
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.last[r.key]; o != nil {
		m.letGoLocked(o)
	}
	m.letGoLocked(r)
	m.forgetListsLocked()
}
