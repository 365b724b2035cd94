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
	for _, r := range inf.all() {
		if !r.part.Version().IsZero() {
			inf.Replace(r.part, List{})
			r.part.answer(inf.Collection, nil, false)
		}
	}
	inf.resident.releaseAll()
	return nil
}
