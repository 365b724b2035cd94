package cache

// initialSync tracks whether a queue has handed out its first batch: what the first
// Replace brought, or nothing at all if another call came before it. It is
// guarded by the lock of its queue, apart from done.
type initialSync struct {
	begun bool
	left  int
	over  bool
	done  chan struct{} // closed when over
}

func newInitialSync() initialSync {
	return initialSync{done: make(chan struct{})}
}

// begin starts the first batch with a number of items; later calls do nothing.
func (s *initialSync) begin(items int) {
	if !s.begun {
		s.begun, s.left = true, items
	}
	s.check()
}

// handedOut counts items down.
func (s *initialSync) handedOut(items int) {
	if s.left > 0 {
		s.left -= items
		s.check()
	}
}

func (s *initialSync) check() {
	if s.begun && s.left <= 0 && !s.over {
		s.over = true
		close(s.done)
	}
}
