package engine

// Inside reports whether the caller is the handler of the subscription. A function
// that waits for the handler to return must not be called from inside it.
func (s *Subscription) Inside() bool {
	s.mu.Lock()
	runner := s.runner
	s.mu.Unlock()
	return runner == goroutineID()
}
