// Package synctrack stands in for k8s.io/client-go/tools/cache/synctrack, which it
// forwards to: for controllers that report when they have processed the first list.
package synctrack

import clientgo "k8s.io/client-go/tools/cache/synctrack"

// Trackers of what was begun and finished, and a value that is computed when
// needed.
type (
	AsyncTracker[T comparable] = clientgo.AsyncTracker[T]
	SingleFileTracker          = clientgo.SingleFileTracker
	Lazy[T any]                = clientgo.Lazy[T]
)

// NewAsyncTracker tracks keys that several workers finish in any order.
func NewAsyncTracker[T comparable](name string) *AsyncTracker[T] {
	return clientgo.NewAsyncTracker[T](name)
}

// NewSingleFileTracker tracks items that are finished in order.
func NewSingleFileTracker(name string) *SingleFileTracker {
	return clientgo.NewSingleFileTracker(name)
}
