package cache

import (
	"errors"
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// DeltaFIFO is a queue between a [StoreReflector] and whoever keeps its store. Per
// object it gathers what happened since that object was last popped, as [Deltas];
// objects are popped in the order in which they entered.
//
// Its known objects are usually the store that the consumer fills. Replace reports
// as deleted what is known and not in the list, Delete ignores what is neither known
// nor waiting, Resync repeats what is known.
type DeltaFIFO struct {
	log          klog.Logger
	name         string
	keyFunc      KeyFunc
	known        KeyListerGetter
	emitReplaced bool
	transform    TransformFunc

	mu      sync.Mutex
	changed sync.Cond // something entered, or the queue was closed
	// items has the deltas of each key in queue, at least one; queue has each key
	// once, oldest first.
	items   map[string]Deltas
	queue   []string
	initial initialSync
	closed  bool
}

var (
	_ Queue             = &DeltaFIFO{}
	_ TransformingStore = &DeltaFIFO{}
	_ DoneChecker       = &DeltaFIFO{}
)

// NewDeltaFIFO returns a queue with the old behaviour: what Replace brings is Sync,
// as if it were a resync.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns a queue; the zero value of each option works.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	f := &DeltaFIFO{
		log:          klog.Background(),
		name:         "DeltaFIFO",
		keyFunc:      MetaNamespaceKeyFunc,
		known:        opts.KnownObjects,
		emitReplaced: opts.EmitDeltaTypeReplaced,
		transform:    opts.Transformer,
		items:        map[string]Deltas{},
		initial:      newInitialSync(),
	}
	if opts.KeyFunction != nil {
		f.keyFunc = opts.KeyFunction
	}
	if opts.Name != "" {
		f.name = opts.Name
	}
	if opts.Logger != nil {
		f.log = *opts.Logger
	}
	f.log = klog.LoggerWithName(f.log, f.name)
	f.changed.L = &f.mu
	return f
}

// KeyOf gives the key of an object, of a tombstone, or of Deltas.
func (f *DeltaFIFO) KeyOf(obj any) (string, error) { return keyOf(f.keyFunc, obj) }

func keyOf(keyFunc KeyFunc, obj any) (string, error) {
	if deltas, ok := obj.(Deltas); ok {
		if len(deltas) == 0 {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		obj = deltas.Newest().Object
	}
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return keyFunc(obj)
}

// Transformer is what objects go through before they enter.
func (f *DeltaFIFO) Transformer() TransformFunc { return f.transform }

// Add enters an object as Added.
func (f *DeltaFIFO) Add(obj any) error { return f.enter(Added, obj) }

// Update enters an object as Updated.
func (f *DeltaFIFO) Update(obj any) error { return f.enter(Updated, obj) }

func (f *DeltaFIFO) enter(t DeltaType, obj any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.begin(0)
	return f.enterLocked(t, obj, false)
}

// Delete enters an object as Deleted, if it is known or waits; another was
// reported as deleted already.
func (f *DeltaFIFO) Delete(obj any) error {
	key, err := f.KeyOf(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.begin(0)
	if _, waits := f.items[key]; !waits && !f.mayBeKnown(key) {
		return nil
	}
	return f.enterLocked(Deleted, obj, false)
}

// mayBeKnown is true for a key that cannot be looked up, too.
func (f *DeltaFIFO) mayBeKnown(key string) bool {
	if f.known == nil {
		return false
	}
	_, exists, err := f.known.GetByKey(key)
	return exists || err != nil
}

// enterLocked appends a delta to those of its object. Objects that have been
// through the transform, because they come out of the known ones, skip it.
func (f *DeltaFIFO) enterLocked(t DeltaType, obj any, transformed bool) error {
	key, err := f.KeyOf(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	if _, tombstone := obj.(DeletedFinalStateUnknown); f.transform != nil && !tombstone && !transformed {
		if obj, err = f.transform(obj); err != nil {
			return err
		}
	}
	f.putLocked(key, mergeDeletions(append(f.items[key], Delta{Type: t, Object: obj})))
	return nil
}

func (f *DeltaFIFO) putLocked(key string, deltas Deltas) {
	if _, waits := f.items[key]; !waits {
		f.queue = append(f.queue, key)
	}
	f.items[key] = deltas
	f.changed.Broadcast()
}

// mergeDeletions makes one of two deletions at the end: the one that knows the
// final state, or the first of two that do.
func mergeDeletions(deltas Deltas) Deltas {
	last := len(deltas) - 1
	if last < 1 || deltas[last].Type != Deleted || deltas[last-1].Type != Deleted {
		return deltas
	}
	if _, unknown := deltas[last-1].Object.(DeletedFinalStateUnknown); unknown {
		deltas[last-1] = deltas[last]
	}
	return deltas[:last]
}

// AddIfNotPresent puts back Deltas that were popped and could not be processed,
// unless something newer of their object waits.
func (f *DeltaFIFO) AddIfNotPresent(obj any) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return fmt.Errorf("object must be of type deltas, but got: %T", obj)
	}
	key, err := f.KeyOf(deltas)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.begin(0)
	f.putBackLocked(key, deltas)
	return nil
}

func (f *DeltaFIFO) putBackLocked(key string, deltas Deltas) {
	if _, waits := f.items[key]; !waits {
		f.putLocked(key, deltas)
	}
}

// Pop waits for the oldest object and processes its Deltas under the queue's
// lock, so that what process changes, such as the known objects, stays in step
// with the queue. An [ErrRequeue] puts the Deltas back. A closed queue is popped
// until it is empty.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 {
		if f.closed {
			return nil, ErrFIFOClosed
		}
		f.changed.Wait()
	}
	inInitialList := !f.initial.over
	key := f.queue[0]
	f.queue[0] = ""
	f.queue = f.queue[1:]
	f.initial.handedOut(1)
	deltas := f.items[key]
	delete(f.items, key)

	if depth := len(f.queue); depth > slowDepth {
		defer logSlow(f.log, "Slow event handlers block the queue", slowProcessing, "key", key, "depth", depth)()
	}
	err := process(deltas, inInitialList)
	var requeue ErrRequeue
	if errors.As(err, &requeue) {
		f.putBackLocked(key, deltas)
		err = requeue.Err
	}
	return deltas, err
}

// Replace enters the objects of a list, and a deletion with an unknown final state
// for each object that waits or is known and is not in the list.
func (f *DeltaFIFO) Replace(list []any, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	as := Sync
	if f.emitReplaced {
		as = Replaced
	}
	listed := make(sets.Set[string], len(list))
	for _, obj := range list {
		key, err := f.KeyOf(obj)
		if err != nil {
			return KeyError{Obj: obj, Err: err}
		}
		listed.Insert(key)
		if err := f.enterLocked(as, obj, false); err != nil {
			return fmt.Errorf("couldn't enqueue object: %w", err)
		}
	}
	vanished := f.vanishedLocked(listed)
	for _, tombstone := range vanished {
		if err := f.enterLocked(Deleted, tombstone, false); err != nil {
			return err
		}
	}
	f.initial.begin(len(listed) + len(vanished))
	return nil
}

// vanishedLocked finds what waits or is known and is not listed.
func (f *DeltaFIFO) vanishedLocked(listed sets.Set[string]) []DeletedFinalStateUnknown {
	var vanished []DeletedFinalStateUnknown
	for _, key := range f.queue {
		if listed.Has(key) {
			continue
		}
		last := f.items[key].Newest().Object
		if tombstone, ok := last.(DeletedFinalStateUnknown); ok {
			last = tombstone.Obj
		}
		vanished = append(vanished, DeletedFinalStateUnknown{Key: key, Obj: last})
	}
	if f.known == nil {
		return vanished
	}
	for _, key := range f.known.ListKeys() {
		if _, waits := f.items[key]; !waits && !listed.Has(key) {
			vanished = append(vanished, DeletedFinalStateUnknown{Key: key, Obj: lookUp(f.log, f.known, key)})
		}
	}
	return vanished
}

// lookUp gives a known object, or nil if it has gone since.
func lookUp(log klog.Logger, known KeyGetter, key string) any {
	obj, exists, err := known.GetByKey(key)
	switch {
	case err != nil:
		utilruntime.HandleErrorWithLogger(log, err, "A key that the known objects list cannot be looked up, going on without the object", "key", key)
		return nil
	case !exists:
		log.Info("A key that the known objects list has no object", "key", key)
		return nil
	}
	return obj
}

// Resync enters each known object as Sync, unless something newer of it waits.
func (f *DeltaFIFO) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		return nil
	}
	for _, key := range f.known.ListKeys() {
		if err := f.resyncLocked(key); err != nil {
			return err
		}
	}
	return nil
}

func (f *DeltaFIFO) resyncLocked(key string) error {
	obj := lookUp(f.log, f.known, key)
	if obj == nil {
		return nil
	}
	// The object decides what waits for it: its key need not be the one it is known by.
	key, err := f.KeyOf(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	if _, waits := f.items[key]; waits {
		return nil
	}
	if err := f.enterLocked(Sync, obj, true); err != nil {
		return fmt.Errorf("couldn't queue object: %w", err)
	}
	return nil
}

// HasSynced reports whether the first batch has been popped.
func (f *DeltaFIFO) HasSynced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.initial.over
}

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (f *DeltaFIFO) HasSyncedChecker() DoneChecker { return f }

// Name is the name of the queue.
func (f *DeltaFIFO) Name() string { return f.name }

// Done is closed when the first batch has been popped.
func (f *DeltaFIFO) Done() <-chan struct{} { return f.initial.done }

// Close wakes those who wait in Pop.
func (f *DeltaFIFO) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

// IsClosed reports whether Close was called.
func (f *DeltaFIFO) IsClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// ErrRequeue is returned by a [PopProcessFunc] to put back what it was given. Pop
// returns the error inside.
type ErrRequeue struct{ Err error }

func (e ErrRequeue) Error() string {
	if e.Err == nil {
		return "the popped item should be requeued without returning an error"
	}
	return e.Err.Error()
}

// A queue logs that processing is slow only when it is also deep: one slow item does
// no harm.
const (
	slowDepth      = 10
	slowProcessing = 100 * time.Millisecond
)

// logSlow returns a function that logs a message if it is called after the limit.
func logSlow(log klog.Logger, message string, limit time.Duration, args ...any) func() {
	start := time.Now()
	return func() {
		if took := time.Since(start); took >= limit {
			log.Info(message, append(args, "took", took)...)
		}
	}
}
