package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Pop waits for the oldest change and processes it, as Deltas of one. Only one
// goroutine may pop. A closed queue is popped until it is empty.
func (f *RealFIFO) Pop(process PopProcessFunc) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.waitLocked(); err != nil {
		return nil, err
	}
	inInitialList := !f.initial.over
	deltas := Deltas(f.takeLocked(1))
	defer f.initial.handedOut(1)
	defer f.logSlowLocked(deltas)()
	err := f.processLocked(func() error { return process(deltas, inInitialList) })
	return deltas, err
}

// PopBatch takes as many changes as there are, up to a limit, and processes them
// together: no two of the same object, none of the first batch with a later one,
// and none with an item that concerns all objects. A single one is processed as
// Pop would.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.waitLocked(); err != nil {
		return err
	}
	inInitialList := !f.initial.over
	deltas := f.takeLocked(f.batchLocked())
	defer f.initial.handedOut(len(deltas))
	defer f.logSlowLocked(deltas)()
	return f.processLocked(func() error {
		if len(deltas) == 1 {
			return processSingle(Deltas(deltas), inInitialList)
		}
		return processBatch(deltas, inInitialList)
	})
}

func (f *RealFIFO) waitLocked() error {
	for len(f.items) == 0 {
		if f.closed {
			return ErrFIFOClosed
		}
		f.changed.Wait()
	}
	return nil
}

// takeLocked removes the oldest n items.
func (f *RealFIFO) takeLocked(n int) []Delta {
	taken := make([]Delta, n)
	copy(taken, f.items)
	clear(f.items[:n]) // the queue's memory must not keep the objects alive
	f.items = f.items[n:]
	f.metrics.waiting.Set(float64(len(f.items)))
	return taken
}

// batchLocked counts the items that can be processed together.
func (f *RealFIFO) batchLocked() int {
	limit := min(len(f.items), batchSize)
	if f.initial.left > 0 {
		limit = min(limit, f.initial.left)
	}
	keys := sets.Set[string]{}
	for n, item := range f.items[:limit] {
		if !concernsOne(item) {
			return max(n, 1)
		}
		key, err := f.keyOf(item.Object)
		switch {
		case err != nil:
			return n + 1 // the consumer will report what is wrong with it
		case keys.Has(key):
			return n
		}
		keys.Insert(key)
	}
	return limit
}

func concernsOne(d Delta) bool {
	switch d.Type {
	case Added, Updated, Deleted, Replaced, Sync:
		return true
	}
	return false
}

// processLocked runs process, without the lock if the queue allows that and is
// not too long.
func (f *RealFIFO) processLocked(process func() error) error {
	if f.unlock && len(f.items) < 2*batchSize {
		f.mu.Unlock()
		defer f.mu.Lock()
	}
	start := time.Now()
	err := process()
	f.metrics.latency.Observe(time.Since(start).Seconds())
	return err
}

// logSlowLocked returns a function that logs slow processing, if other items wait.
func (f *RealFIFO) logSlowLocked(taken []Delta) func() {
	depth := len(f.items)
	if depth <= slowDepth {
		return func() {}
	}
	key, _ := f.keyOf(taken[0].Object)
	args := []any{"key", key, "depth", depth, "batch", len(taken)}
	if resource := f.identifier.GroupVersionResource(); !resource.Empty() {
		args = append(args, "resource", resource)
	}
	limit := min(time.Duration(len(taken))*slowProcessing, slowBatch)
	return logSlow(f.log, "Slow event handlers block the queue", limit, args...)
}
