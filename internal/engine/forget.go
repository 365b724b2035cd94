package engine

// Forget evicts the objects that were made of a record, and those that they may have
// parts in common with: the next reader gets new ones, made of the bytes.
func (c *Collection) Forget(r *Record) {
	if r.bytes.None() {
		return // an object that came as one has nothing else
	}
	m := &c.resident
	for d := r.decoded(); d != nil; d = d.next {
		if d.template != nil {
			m.evictNear(d.template)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.last[r.key]; o != nil {
		m.evictLocked(o)
	}
	m.evictLocked(r)
	m.forgetListsLocked()
}

// ForgetView evicts what a view has decoded: nobody reads in it any more.
func (c *Collection) ForgetView(v *View) {
	m := &c.resident
	m.templates.forgetView(v)
	for r := range c.All() {
		if r.decoded().find(v) != nil {
			m.mu.Lock()
			m.forgetLocked(r, v)
			m.mu.Unlock()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range []*ring{&m.pass, &m.hot} {
		for _, e := range g.entries[g.head:] {
			m.forgetLocked(e.record, v)
		}
	}
	m.forgetListsLocked()
}

// forgetLocked takes a view's decoding off a record, which weighs less then, if anything.
func (m *residency) forgetLocked(r *Record, v *View) {
	was := m.uncountLocked(r)
	r.drop(v)
	switch {
	case r.decoded() == nil:
		m.evictLocked(r)
	case was:
		m.countLocked(r)
	}
}

// drop takes a view's decoding off a record.
func (r *Record) drop(v *View) {
	for {
		first := r.decodings.Load()
		if first.find(v) == nil {
			return
		}
		if r.decodings.CompareAndSwap(first, first.without(v)) {
			return
		}
	}
}

// without returns a list of the same decodings but for that of a view.
func (d *decoding) without(v *View) *decoding {
	switch {
	case d == nil:
		return nil
	case d.view == v:
		return d.next
	}
	c := *d
	c.next = d.next.without(v)
	return &c
}
