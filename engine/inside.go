package engine

// Inside tells whether the handler of the subscription is who asks. Whoever waits for
// the handler to return must not do so from inside it.
func (s *Subscription) Inside() bool {
	s.mu.Lock()
	runner := s.runner
	s.mu.Unlock()
	return runner == goroutineID()
}
