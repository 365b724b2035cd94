package engine

// Memory is what an informer holds, in bytes.
type Memory struct {
	// Young are the states in the store that are in the heap, as they changed lately.
	Young int64
	// Mapped is what the informer has outside the heap, Live how much of that belongs
	// to states in the store. The rest is held by queues and readers, or is unmapped
	// after the next garbage collection.
	Mapped, Live int64
	// Kept is about what the objects weigh that stay decoded for readers, Passing what
	// those do that were decoded for handlers and will be evicted soon.
	Kept, Passing int64
	// Shared is about what the templates weigh whose parts decoded objects have in
	// common.
	Shared int64
}

// Memory returns what the informer holds.
func (inf *Informer) Memory() Memory {
	m := inf.Collection.memory()
	for _, r := range inf.all() {
		p := r.in.packer.Memory()
		m.Mapped += p.Mapped
		m.Live += p.Live
	}
	for _, p := range inf.orphans.memory() {
		m.Mapped += p.Mapped
		m.Live += p.Live
	}
	return m
}

func (c *Collection) memory() Memory {
	m := &c.resident
	m.mu.Lock()
	defer m.mu.Unlock()
	return Memory{
		Young:   c.youngs.Bytes(),
		Kept:    m.keeper.weight.Load(),
		Passing: m.passingWeightLocked() + m.lists.stale,
		Shared:  m.templates.weight.Load(),
	}
}
