package engine

import (
	"maps"
	"sync"
	"time"
)

// State is what a reflector is doing.
type State uint8

const (
	// Idle: not started.
	Idle State = iota
	// Listing: reading the whole set.
	Listing
	// Watching: in touch with the server.
	Watching
	// Waiting: something failed; Cause says what, NextTry when it is tried again.
	Waiting
	// Stopped: Run has returned; if that was because of a failure, Cause says which.
	Stopped
	// Absent: a resource that the server does not serve counts as empty, as it is optional
	// or was served before; NextTry is when it is looked for again.
	Absent
	// Polling: the resource is listed at an interval, as it cannot be watched; Cause
	// says why, and the store is as old as the last list.
	Polling
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Listing:
		return "listing"
	case Watching:
		return "watching"
	case Waiting:
		return "waiting"
	case Stopped:
		return "stopped"
	case Absent:
		return "absent"
	case Polling:
		return "polling"
	}
	return "unknown"
}

// Status is what a reflector is doing, and if it fails, why.
type Status struct {
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
	// NextTry is when a waiting reflector tries again.
	NextTry time.Time
	// Version is the server's resource version that the store has reached.
	Version Version
	// LastContact is when the server last confirmed the state: by a list, an event, a
	// bookmark, or a version that is still the same. That a watch was opened proves
	// nothing. The store is no older than that.
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
	// Events and Bookmarks count what watches have sent, Reconnects the watches that were
	// opened because the one before had broken.
	Events, Bookmarks, Reconnects uint64
	// ListsBy are Lists by cause, Failures are failed lists and watches by reason.
	ListsBy  map[Cause]uint64
	Failures map[Reason]uint64
	// ListTime is how long all lists together took that are in the store.
	ListTime time.Duration
	// WatchedSince is when the present watch was taken up; zero while there is none.
	WatchedSince time.Time
	// SyncTook is how long it took from the start until the first list was in the store,
	// or a snapshot was confirmed.
	SyncTook time.Duration
	// Verified is when the store was last compared with the server, by Verify; zero: never.
	// Differences counts what has differed.
	Verified    time.Time
	Differences uint64
	// Snapshot is what became of the snapshot on disk; zero where there is none to be.
	Snapshot SnapshotStatus
}

// sync notes that the first list is in the store, of a run that began at a time.
func (s *Status) sync(began time.Time) {
	if !s.Synced {
		s.Synced, s.SyncTook = true, time.Since(began)
	}
}

// statusBox is a Status that a reflector writes and others read.
type statusBox struct {
	mu   sync.Mutex
	s    Status
	past history
}

func (b *statusBox) update(f func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state, reason := b.s.State, b.s.Reason
	f(&b.s)
	if b.s.State != state || b.s.Reason != reason {
		b.past.note(b.s, time.Now())
	}
}

func (b *statusBox) get() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.s
	s.ListsBy, s.Failures = maps.Clone(s.ListsBy), maps.Clone(s.Failures)
	return s
}

func (b *statusBox) enter(state State) {
	b.update(func(s *Status) {
		if s.State != state {
			s.State, s.Since = state, time.Now()
		}
	})
}
