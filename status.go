package kinform

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/engine"
)

// State is what an informer is doing.
type State = engine.State

// The states of an informer.
const (
	Idle     = engine.Idle     // Run was not called
	Listing  = engine.Listing  // reading the whole set
	Watching = engine.Watching // following what happens
	Waiting  = engine.Waiting  // something failed; it will be tried again
	Stopped  = engine.Stopped  // Run has returned
	Absent   = engine.Absent   // an optional resource is not served, and counts as empty
	Polling  = engine.Polling  // listed at an interval, as it cannot be watched; Cause says why
)

// SourceStatus tells how one list and watch is doing: an informer has one, or
// one per namespace.
type SourceStatus = engine.Status

// SubscriptionStatus tells how one subscriber is doing.
type SubscriptionStatus = engine.SubscriptionStatus

// Status tells how an informer is doing.
type Status struct {
	// Resource is what is listed and watched.
	Resource string
	// Synced: the first list is in the store.
	Synced bool
	// Objects is how many the store holds, Bytes what the server sent of them,
	// Packed what they take.
	Objects int
	Bytes   int64
	Packed  int64
	// Rejected counts objects that could not be read, and LastRejected says why
	// the last one could not.
	Rejected     uint64
	LastRejected error
	// Mutated counts objects that a reader was found to have changed, and LastMutation
	// tells of the last one; see Options.MutationDetector.
	Mutated      uint64
	LastMutation Mutation
	// Sources has the state, the cause of a failure, versions and times.
	Sources []SourceStatus
	// Subscribers, in the order in which they joined.
	Subscribers []SubscriptionStatus
}

// Status tells how the informer is doing, as of now.
func (inf *Informer[T]) Status() Status { return inf.core.status() }

func (c *core) status() Status {
	s := Status{
		Resource: c.query.String(),
		Synced:   c.HasSynced(),
		Objects:  c.Len(),
		Sources:  c.Informer.Status(),
	}
	s.Bytes, s.Packed = c.Weight()
	s.Rejected, s.LastRejected = c.Rejected()
	s.Mutated, s.LastMutation = c.mutations.Found()
	for _, sub := range c.Subscriptions() {
		s.Subscribers = append(s.Subscribers, sub.Status())
	}
	return s
}

// State is that of the source that is worst off.
func (s Status) State() State { return s.worst().State }

// Cause is why it fails, nil while it does not.
func (s Status) Cause() error { return s.worst().Cause }

// Reason is the kind of that failure, "" while there is none.
func (s Status) Reason() Reason { return s.worst().Reason }

// Staleness is how long ago the server last said what proves the state: a list, an
// event, a bookmark, or that its version is still the same. The store is at most that
// old. That a connection is open proves nothing. Before the first list it is the
// largest duration there is. A quiet resource is proven every 150 s
// (Options.Silence) where the server sends no bookmarks, every 300 s at the latest.
func (s Status) Staleness() time.Duration {
	last := s.worst().LastContact
	for _, src := range s.Sources {
		if src.LastContact.Before(last) {
			last = src.LastContact
		}
	}
	return max(time.Since(last), 0) // a clock may have been set back
}

func (s Status) worst() SourceStatus {
	var worst SourceStatus
	for i, src := range s.Sources {
		if i == 0 || worst.Cause == nil && (src.Cause != nil || src.State != Watching) {
			worst = src
		}
	}
	return worst
}

// String is one line for people.
func (s Status) String() string {
	var b strings.Builder
	w := s.worst()
	fmt.Fprintf(&b, "%s: %s, %d objects, %d bytes in %d, version %s", s.Resource, w.State, s.Objects, s.Bytes, s.Packed, w.Version)
	if w.Cause != nil {
		fmt.Fprintf(&b, ", %d failures (%s): %v", w.Attempts, w.Reason, w.Cause)
	}
	if s.Rejected > 0 {
		fmt.Fprintf(&b, ", %d objects rejected, the last one: %v", s.Rejected, s.LastRejected)
	}
	if s.Mutated > 0 {
		fmt.Fprintf(&b, ", %d objects changed by readers, the last one: %v", s.Mutated, s.LastMutation)
	}
	return b.String()
}
