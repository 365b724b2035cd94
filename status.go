package kinform

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// State is what an informer is doing.
type State uint8

// The states of an informer.
const (
	StateIdle     State = iota // Run was not called
	StateListing               // reading the whole set
	StateWatching              // receiving changes
	StateWaiting               // something failed; it will be tried again
	StateStopped               // Run has returned
	StateAbsent                // the resource is not served, and counts as empty
	StatePolling               // listed at an interval, as it cannot be watched; Cause says why
)

// String returns the state in lower case: "idle", "listing", and so on.
func (s State) String() string { return engine.State(s).String() }

// SourceStatus is the status of one list and watch: an informer has one, or one per
// namespace.
type SourceStatus struct {
	// Source names what is listed and watched.
	Source string
	State  State
	// Since is when the state was entered.
	Since time.Time
	// Cause is the present failure; nil while healthy.
	Cause error
	// Reason is the kind of that failure.
	Reason Reason
	// Attempts is the number of failures in a row.
	Attempts int
	// NextTry is when a waiting source tries again.
	NextTry time.Time
	// ResourceVersion is the server's version that the store has reached.
	ResourceVersion string
	// LastContact is when the server last confirmed the state: by a list, an event, a
	// bookmark, or a version that is still the same. The store is no older than that.
	LastContact time.Time
	// Synced: the first list is in the store.
	Synced bool
	// Listed and Received are the objects and bytes of the present or last list.
	Listed   int
	Received int64
	// Lists, Watches and Expired count requests, and how often the server had
	// forgotten the version that was asked for.
	Lists, Watches, Expired uint64
	// Stale counts the events that were ignored, because the store already had that
	// state of the object or a newer one, or because its deletion was known.
	Stale uint64
	// Epochs counts how often the server's history went back.
	Epochs uint64
	// Events counts what watches have sent, Reconnects the watches that were opened because
	// the one before had broken.
	Events, Reconnects uint64
	// ListsBy are Lists by cause: "first", "expired", and so on; docs/metrics.md has all.
	ListsBy map[string]uint64
	// WatchedSince is when the present watch was taken up; zero while there is none.
	WatchedSince time.Time
	// SyncTook is how long it took from the start of Run until Synced.
	SyncTook time.Duration
	// Verified is when the store was last compared with the server; zero: never.
	// Differences counts what has differed; see Informer.Verify.
	Verified    time.Time
	Differences uint64
	// Snapshot is what became of the snapshot on disk; see Options.Snapshot.
	Snapshot SnapshotStatus
}

func sourceStatus(s engine.Status) SourceStatus {
	return SourceStatus{
		Source: s.Source, State: State(s.State), Since: s.Since,
		Cause: s.Cause, Reason: Reason(s.Reason), Attempts: s.Attempts, NextTry: s.NextTry,
		ResourceVersion: s.Version.String(), LastContact: s.LastContact, Synced: s.Synced,
		Listed: s.Listed, Received: s.Received,
		Lists: s.Lists, Watches: s.Watches, Expired: s.Expired, Stale: s.Stale, Epochs: s.Epochs,
		Events: s.Events, Reconnects: s.Reconnects, ListsBy: listsBy(s.ListsBy), WatchedSince: s.WatchedSince, SyncTook: s.SyncTook,
		Verified: s.Verified, Differences: s.Differences,
		Snapshot: snapshotStatus(s.Snapshot),
	}
}

func listsBy(causes map[engine.Cause]uint64) map[string]uint64 {
	named := make(map[string]uint64, len(causes))
	for cause, n := range causes {
		named[string(cause)] = n
	}
	return named
}

// SubscriptionStatus is the status of one subscriber.
type SubscriptionStatus struct {
	// Name is that of SubscribeOptions.
	Name string
	// Synced: the handler has returned from every object of the initial list.
	Synced bool
	// Waiting is how many events wait for the handler.
	Waiting int
	// Delivered, Refused and Merged count events that the handler got, that its Filter
	// kept from it, and that were merged into others.
	Delivered, Refused, Merged uint64
	// Panics counts the handler's panics.
	Panics uint64
	// Lag is how long the first event has waited that waits for the handler. Where metrics
	// are taken (package metrics), the one that the handler is called for counts, too.
	Lag time.Duration
}

func subscriptionStatus(s engine.SubscriptionStatus) SubscriptionStatus {
	return SubscriptionStatus{
		Name: s.Name, Synced: s.Synced, Waiting: s.Waiting,
		Delivered: s.Delivered, Refused: s.Refused, Merged: s.Merged, Panics: s.Panics, Lag: s.Lag,
	}
}

// Memory is what an informer holds, in bytes.
type Memory struct {
	// Young is the size of recently changed states. They are in the Go heap.
	Young int64
	// Mapped is the memory outside the heap, where GOMEMLIMIT and heap profiles do
	// not see it. Live is the part of it that holds states in the store. The rest is
	// held by readers and queues, or is unmapped after the next garbage collection.
	Mapped, Live int64
	// Kept is the approximate size of objects that stay decoded because they are
	// read. Passing is that of objects decoded for handlers, which are evicted soon.
	Kept, Passing int64
	// Shared is that of the parts that decoded objects have in common; see
	// Options.Unshared.
	Shared int64
}

// Decoded is how many objects are decoded for one reason.
type Decoded struct {
	// Why is the reason, for people: "asked for by readers", "listed again and again",
	// "changing, for handlers", or "read in passing".
	Why     string
	Objects int
	// Bytes is about how much memory they take, beside what they have in common with
	// others (Memory.Shared).
	Bytes int64
	// Since is when the first of them was decoded.
	Since time.Time
}

// Status is the status of an informer.
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
	// Memory is where that is, and what else the informer holds.
	Memory Memory
	// Decoded says which objects are decoded, and why. What is not decoded is held as
	// bytes alone.
	Decoded []Decoded
	// Rejected counts objects that could not be read, and LastRejected says why
	// the last one could not.
	Rejected     uint64
	LastRejected error
	// Mutated counts objects that a reader was found to have changed, and
	// LastMutation is the last one; see Options.MutationDetector.
	Mutated      uint64
	LastMutation Mutation
	// Epochs counts how often the server's history went back, as it does when a backup is
	// restored. With several namespaces, each list that finds it counts, of those that have
	// left the scope, too.
	Epochs uint64
	// Unseen has the fields that structs of the program's own name, and that none of the
	// first objects had that were decoded for them: "*main.widget: spec.colour". They may
	// be optional, or misspelt. Only structs are here of which nobody knows what the
	// objects have, as of custom resources; see View.
	Unseen []string
	// Sources has the state, the cause of a failure, versions and times.
	Sources []SourceStatus
	// Subscribers, in the order in which they joined.
	Subscribers []SubscriptionStatus
}

// Status returns the status of the informer, as of now.
func (inf *Informer[T]) Status() Status { return inf.core.status() }

func (c *core) status() Status {
	s := Status{
		Resource: c.current().String(),
		Synced:   c.HasSynced(),
		Objects:  c.Len(),
		Epochs:   c.Epochs(),
	}
	for _, src := range c.Informer.Status() {
		s.Sources = append(s.Sources, sourceStatus(src))
	}
	s.Bytes, s.Packed = c.Weight()
	s.Memory = Memory(c.Informer.Memory())
	for _, d := range c.Decoded() {
		s.Decoded = append(s.Decoded, Decoded{d.Why.String(), d.Objects, d.Bytes, d.Since})
	}
	s.Rejected, s.LastRejected = c.Rejected()
	s.LastRejected = ownError(s.LastRejected)
	s.Unseen = c.views.neverSeen()
	s.Mutated, s.LastMutation = c.hooks.mutationsFound()
	for _, sub := range c.Subscriptions() {
		s.Subscribers = append(s.Subscribers, subscriptionStatus(sub.Status()))
	}
	return s
}

// State is that of the least healthy source.
func (s Status) State() State { return s.worst().State }

// Cause is the present failure, nil while there is none.
func (s Status) Cause() error { return s.worst().Cause }

// Reason is the kind of that failure, "" while there is none.
func (s Status) Reason() Reason { return s.worst().Reason }

// Staleness is how long ago the server last confirmed the state: by a list, an event,
// a bookmark, or a version that is still the same. The store is at most that old. An
// open connection proves nothing. Before the first list it is the largest duration.
// A quiet resource is confirmed every 150 s (Options.Silence) where the server sends
// no bookmarks, every 300 s at the latest.
func (s Status) Staleness() time.Duration {
	if len(s.Sources) == 0 {
		return 0 // there is nothing that could have changed
	}
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
		if i == 0 || worst.Cause == nil && (src.Cause != nil || src.State != StateWatching) {
			worst = src
		}
	}
	return worst
}

// String is one line for people.
func (s Status) String() string {
	var b strings.Builder
	w := s.worst()
	fmt.Fprintf(&b, "%s: %s, %d objects, %d bytes in %d, version %s", s.Resource, w.State, s.Objects, s.Bytes, s.Packed, w.ResourceVersion)
	if w.Cause != nil {
		fmt.Fprintf(&b, ", %d failures (%s): %v", w.Attempts, w.Reason, w.Cause)
	}
	if w.Snapshot.Unconfirmed {
		fmt.Fprintf(&b, ", from disk as of %s and not confirmed yet", w.Snapshot.Seen.Format(time.RFC3339))
	}
	if s.Rejected > 0 {
		fmt.Fprintf(&b, ", %d objects rejected, the last one: %v", s.Rejected, s.LastRejected)
	}
	if s.Mutated > 0 {
		fmt.Fprintf(&b, ", %d objects changed by readers, the last one: %v", s.Mutated, s.LastMutation)
	}
	return b.String()
}
