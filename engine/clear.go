package engine

// Clear gives up everything that an informer holds: the store is empty, nobody is
// subscribed, and the next run begins with a list. Nothing is delivered.
//
// Possible errors: ErrRunning.
func (inf *Informer) Clear() error {
	if !inf.begin() {
		return ErrRunning
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
	inf.Edit(all)
	for _, r := range inf.all() {
		r.part.reach(Version{})
		r.part.answer(inf.Collection, nil, false)
	}
	inf.resident.releaseAll()
	return nil
}
