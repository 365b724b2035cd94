package engine

import "errors"

// ErrEnded says that an informer has been given up.
var ErrEnded = errors.New("the informer has ended, and what it held was given up")

// Clear gives up everything that an informer holds: the store is empty, and has not
// synced; nobody is subscribed, and who waits for anything gets ErrEnded. Nothing is
// delivered. The informer does not run again. Clearing it twice does nothing.
//
// Possible errors: ErrRunning.
func (inf *Informer) Clear() error {
	switch err := inf.begin(); err {
	case nil:
	case ErrEnded:
		return nil
	default:
		return err
	}
	defer inf.end()
	inf.scoping.Lock()
	defer inf.scoping.Unlock()
	for _, s := range inf.Subscriptions() {
		s.Stop()
	}
	var all []Change // of partitions that have left, too, if their successors have not listed
	for rec := range inf.All() {
		all = append(all, Change{Record: rec, Gone: true})
	}
	inf.unsync()
	for _, r := range inf.all() {
		r.part.forget() // first, as an empty store proves nothing
		r.status.update(func(s *Status) { s.Synced, s.Version = false, Version{} })
	}
	inf.Edit(all)
	inf.resident.releaseAll()
	inf.finish(ErrEnded)
	return nil
}

// forget has the partition be as before its first list.
func (p *Partition) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = Version{}
	select {
	case <-p.listed:
		p.listed = make(chan struct{})
	default:
	}
}

// unsync has the collection not be synced any more.
func (c *Collection) unsync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.synced:
		c.synced = make(chan struct{})
	default:
	}
}
