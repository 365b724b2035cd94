package contract

import (
	"context"
	"sync"
)

// bell guards something that changes, and rings at each change, so that others
// can wait for a condition without looking again and again.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed at the next change; nil while nobody waits
}

// change makes a change and rings.
func (b *bell) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// look reads what the bell guards.
func (b *bell) look(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// await returns once the condition holds; false: ctx ended first.
func (b *bell) await(ctx context.Context, condition func() bool) bool {
	for {
		b.mu.Lock()
		if condition() {
			b.mu.Unlock()
			return true
		}
		if b.rung == nil {
			b.rung = make(chan struct{})
		}
		rung := b.rung
		b.mu.Unlock()
		select {
		case <-rung:
		case <-ctx.Done():
			return false
		}
	}
}
