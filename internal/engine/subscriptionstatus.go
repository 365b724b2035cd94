package engine

import "time"

// SubscriptionStatus is the status of a subscriber.
type SubscriptionStatus struct {
	Name string
	// Synced: the handler has returned from every object of the initial list.
	Synced bool
	// Waiting is how many deltas wait in the queue.
	Waiting int
	// Delivered, Refused and Merged count deltas that the handler got, that its Filter
	// kept from it, and that were merged into others.
	Delivered, Refused, Merged uint64
	// Panics counts the handler's panics.
	Panics uint64
	// Lag is how long the change waits that is with the handler, or else the first in its
	// queue. Before Measure it is that of the queue.
	Lag time.Duration
	// Took is how long the handler took each time, Late how long changes had waited when
	// it was called for them, both since Measure; see HandlerBuckets and DelayBuckets.
	Took, Late Durations
}

// Waiting is how many deltas wait in the queue.
func (s *Subscription) Waiting() int { return s.queue.Len() }

// Number is one that no other subscription or informer of the process has.
func (s *Subscription) Number() uint64 { return s.number }

// Status returns the status of the subscriber.
func (s *Subscription) Status() SubscriptionStatus {
	st := SubscriptionStatus{
		Name:      s.options.Name,
		Delivered: s.delivered.Load(),
		Refused:   s.refused.Load(),
		Panics:    s.panics.Load(),
		Lag:       s.lag(),
		Took:      s.timing.took.get(),
		Late:      s.timing.late.get(),
	}
	select {
	case <-s.synced:
		st.Synced = true
	default:
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	st.Waiting, st.Merged = s.queue.waiting, s.queue.merged
	return st
}
