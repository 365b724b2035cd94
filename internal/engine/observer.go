package engine

import "time"

// Observer is called at the few points at which something happens that is worth
// measuring. It is the one seam for metrics and traces; Status counts what it counts
// there, too. Calls come from the engine's own goroutines, several at a time, some of
// them under a lock: it must be quick, and must not call the informer.
//
// Without an observer, nothing is measured for it: no clock is read.
type Observer func(Observation)

// Point says what happened.
type Point uint8

// The points, with the fields that an Observation has there.
const (
	// PointList: a list was begun. Source, Cause.
	PointList Point = iota + 1
	// PointListed: a list is in the store. Source, Count objects, Took.
	PointListed
	// PointEpoch: the server's history went back. Source.
	PointEpoch
	// PointWatch: a watch was begun. Source.
	PointWatch
	// PointWatched: a watch has ended that was taken up. Source, Count events, Took.
	PointWatched
	// PointExpired: the server had forgotten the version of a watch. Source.
	PointExpired
	// PointFailed: a list or a watch failed. Source, Reason, Err.
	PointFailed
	// PointApplied: events of a watch are in the store. Source, Count, Took.
	PointApplied
	// PointStale: an event was left out, as it was known already. Source, Key.
	PointStale
	// PointRejected: an object could not be read. Key, Err.
	PointRejected
	// PointDecoded: an object was decoded. View, Key, Took, Err.
	PointDecoded
	// PointMerged: changes were merged in a queue. Subscriber, Count.
	PointMerged
	// PointDelivered: a handler has returned. Subscriber, Key, Took.
	PointDelivered
	// PointPanicked: a handler has panicked. Subscriber, Key.
	PointPanicked
)

// Observation is what happened at a point. Fields that a point does not name are zero.
type Observation struct {
	Point      Point
	Source     string
	Subscriber string
	View       string
	Key        string
	Count      int
	Took       time.Duration
	Reason     Reason
	Cause      Cause
	Err        error
}

// Observe adds an observer, also while the informer runs. It stays. Nil adds none.
func (c *Collection) Observe(added Observer) {
	if added == nil {
		return
	}
	for {
		before := c.observer.Load()
		both := added
		if before != nil {
			both = func(o Observation) {
				(*before)(o)
				added(o)
			}
		}
		if c.observer.CompareAndSwap(before, &both) {
			return
		}
	}
}

// observed reports whether there is an observer.
func (c *Collection) observed() bool { return c.observer.Load() != nil }

// observe passes on what happened, if there is an observer.
func (c *Collection) observe(o Observation) {
	if observer := c.observer.Load(); observer != nil {
		(*observer)(o)
	}
}

// stopwatch starts measuring, if there is an observer. The zero value measures nothing.
func (c *Collection) stopwatch() stopwatch {
	if !c.observed() {
		return stopwatch{}
	}
	return stopwatch{time.Now()}
}

type stopwatch struct{ began time.Time }

func (s stopwatch) took() time.Duration {
	if s.began.IsZero() {
		return 0
	}
	return time.Since(s.began)
}

// observe counts what happened to a reflector in its status, and passes it on.
func (r *Reflector) observe(o Observation) {
	r.status.observe(o, r.events, r.bookmarks)
	if r.collection.observed() {
		o.Source = r.source.String()
		r.collection.observe(o)
	}
}

// observe counts what happened.
func (b *statusBox) observe(o Observation, events, bookmarks uint64) {
	b.update(func(s *Status) {
		s.Events, s.Bookmarks = events, bookmarks
		switch o.Point {
		case PointList:
			s.Lists++
			count(&s.ListsBy, o.Cause)
		case PointWatch:
			s.Watches++
		case PointExpired:
			s.Expired++
		case PointEpoch:
			s.Epochs++
		case PointStale:
			s.Stale++
		case PointFailed:
			count(&s.Failures, o.Reason)
		case PointListed:
			s.ListTime += o.Took
		case PointWatched:
			s.WatchedSince = time.Time{}
		}
	})
}

func count[K comparable](in *map[K]uint64, key K) {
	if *in == nil {
		*in = map[K]uint64{}
	}
	(*in)[key]++
}
