package engine

import (
	"context"
	"errors"
	"sync"
)

// errDemanded ends a watch, or a wait for the next list, because somebody demands one.
var errDemanded = errors.New("a list was demanded")

// demands are what others want of a reflector: that it lists, consistently, compares
// everything with the store, and replaces what differs.
type demands struct {
	mu  sync.Mutex
	due []chan struct{} // closed when a list that was begun later is in the store
	cut func()          // ends what the reflector is doing instead; nil: it will see by itself
}

// demand has a list made, and waits until it is in the store.
func (r *Reflector) demand(ctx context.Context) error {
	done := make(chan struct{})
	r.demands.mu.Lock()
	r.demands.due = append(r.demands.due, done)
	if r.demands.cut != nil {
		r.demands.cut()
	}
	r.demands.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-r.part.ended:
		return errLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// heed has demands end what the reflector does, until the result is called.
func (d *demands) heed(cut func()) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = cut
	if len(d.due) > 0 {
		cut()
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cut = nil
	}
}

// pending reports whether a list is demanded.
func (d *demands) pending() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.due) > 0
}

// takeDemands has the list that begins now be what was demanded, and reports whether
// anything was.
func (r *Reflector) takeDemands() bool {
	r.demands.mu.Lock()
	defer r.demands.mu.Unlock()
	due := r.demands.due
	r.demands.due = nil
	r.answering = append(r.answering, due...)
	return len(due) > 0
}

// metDemands notes that the list that was demanded is in the store.
func (r *Reflector) metDemands() {
	for _, done := range r.answering {
		close(done)
	}
	r.answering = nil
}
