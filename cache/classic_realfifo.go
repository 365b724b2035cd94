package cache

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// RealFIFO is a queue that hands out every change by itself, in the order in which
// the changes came. It is what [NewInformer] and its variants use.
//
// With AtomicEvents, a Replace and a Resync are one item each ([ReplacedAll],
// [SyncAll]), which the consumer compares with its store; without, the queue
// compares with its known objects and enters an item per object.
type RealFIFO struct {
	log        klog.Logger
	name       string
	keyFunc    KeyFunc
	known      KeyListerGetter // nil with atomic
	transform  TransformFunc
	atomic     bool
	unlock     bool // process without the lock
	bookmarks  bool
	identifier InformerNameAndResource
	metrics    queueMetrics

	mu      sync.Mutex
	changed sync.Cond // something entered, or the queue was closed
	items   []Delta
	initial initialSync
	closed  bool
}

var (
	_ QueueWithBatch         = &RealFIFO{}
	_ TransformingStore      = &RealFIFO{}
	_ ReflectorBookmarkStore = &RealFIFO{}
	_ DoneChecker            = &RealFIFO{}
)

// batchSize is how many changes PopBatch takes at most. A queue that processes
// without its lock keeps it when two batches wait, so that it cannot grow forever.
const batchSize = 1000

// NewRealFIFO returns a queue that compares with known objects.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects, Transformer: transformer})
}

// NewRealFIFOWithOptions returns a queue. It panics on options that contradict
// each other.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO {
	checkRealFIFOOptions(opts)
	f := &RealFIFO{
		log:        klog.Background(),
		name:       "RealFIFO",
		keyFunc:    MetaNamespaceKeyFunc,
		known:      opts.KnownObjects,
		transform:  opts.Transformer,
		atomic:     opts.AtomicEvents,
		unlock:     opts.UnlockWhileProcessing,
		bookmarks:  opts.EmitDeltaTypeBookmark,
		identifier: opts.Identifier,
		metrics:    newQueueMetrics(opts.Identifier, opts.MetricsProvider),
		initial:    newInitialSync(),
	}
	if opts.KeyFunction != nil {
		f.keyFunc = opts.KeyFunction
	}
	for _, name := range []string{opts.Name, opts.Identifier.Name()} {
		if name != "" {
			f.name = name
		}
	}
	if opts.Logger != nil {
		f.log = *opts.Logger
	}
	f.log = klog.LoggerWithName(f.log, f.name)
	f.changed.L = &f.mu
	return f
}

// checkRealFIFOOptions: an atomic queue needs no known objects and must not have
// them, as they may change while it processes without its lock; another needs
// them, and could not keep the order of bookmarks.
func checkRealFIFOOptions(opts RealFIFOOptions) {
	switch {
	case opts.AtomicEvents && opts.KnownObjects != nil:
		panic("coding error: knownObjects must not be provided when AtomicEvents is true")
	case !opts.AtomicEvents && opts.UnlockWhileProcessing:
		panic("coding error: UnlockWhileProcessing must be false when AtomicEvents is false")
	case !opts.AtomicEvents && opts.KnownObjects == nil:
		panic("coding error: knownObjects must be provided when AtomicEvents is false")
	case !opts.AtomicEvents && opts.EmitDeltaTypeBookmark:
		panic("coding error: EmitDeltaTypeBookmark must be false when AtomicEvents is false")
	}
}

func (f *RealFIFO) keyOf(obj any) (string, error) { return keyOf(f.keyFunc, obj) }

// Transformer is what objects go through before they enter.
func (f *RealFIFO) Transformer() TransformFunc { return f.transform }

// Add enters an object as Added.
func (f *RealFIFO) Add(obj any) error { return f.enter(Added, obj) }

// Update enters an object as Updated.
func (f *RealFIFO) Update(obj any) error { return f.enter(Updated, obj) }

// Delete enters an object as Deleted.
func (f *RealFIFO) Delete(obj any) error { return f.enter(Deleted, obj) }

func (f *RealFIFO) enter(t DeltaType, obj any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.begin(0)
	return f.enterLocked(t, obj, false)
}

// enterLocked refuses objects without a key: they could not be compared with
// others later.
func (f *RealFIFO) enterLocked(t DeltaType, obj any, transformed bool) error {
	if _, err := f.keyOf(obj); err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	if _, tombstone := obj.(DeletedFinalStateUnknown); f.transform != nil && !tombstone && !transformed {
		var err error
		if obj, err = f.transform(obj); err != nil {
			return err
		}
	}
	f.appendLocked(Delta{Type: t, Object: obj})
	return nil
}

func (f *RealFIFO) appendLocked(d Delta) {
	f.items = append(f.items, d)
	f.changed.Broadcast()
	f.metrics.waiting.Set(float64(len(f.items)))
}

// Bookmark enters a resource version, if the queue was made for that.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if !f.bookmarks {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.appendLocked(Delta{Type: Bookmark, Object: BookmarkInfo{ResourceVersion: resourceVersion}})
	return nil
}

// Replace enters a list: as one item, or as a deletion for each object that
// waits or is known and is not in the list, then each object of the list.
func (f *RealFIFO) Replace(list []any, resourceVersion string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	replace := f.replaceEachLocked
	if f.atomic {
		replace = f.replaceAllLocked
	}
	if err := replace(list, resourceVersion); err != nil {
		return err
	}
	f.initial.begin(len(f.items))
	return nil
}

func (f *RealFIFO) replaceAllLocked(list []any, resourceVersion string) error {
	if f.transform != nil {
		transformed := make([]any, len(list))
		for i, obj := range list {
			var err error
			if transformed[i], err = f.transform(obj); err != nil {
				return err
			}
		}
		list = transformed
	}
	f.appendLocked(Delta{Type: ReplacedAll, Object: ReplacedAllInfo{ResourceVersion: resourceVersion, Objects: list}})
	return nil
}

func (f *RealFIFO) replaceEachLocked(list []any, _ string) error {
	gone, err := vanished(f.log, f.items, f.known, list, f.keyOf)
	if err != nil {
		return err
	}
	for _, tombstone := range gone {
		if err := f.enterLocked(Deleted, tombstone, true); err != nil {
			return fmt.Errorf("couldn't enqueue object: %w", err)
		}
	}
	for _, obj := range list {
		if err := f.enterLocked(Replaced, obj, false); err != nil {
			return fmt.Errorf("couldn't enqueue object: %w", err)
		}
	}
	return nil
}

// Resync enters what makes the consumer look at everything again: one item, or
// each known object as Sync, unless something newer of it waits.
func (f *RealFIFO) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.atomic {
		f.appendLocked(Delta{Type: SyncAll, Object: SyncAllInfo{}})
		return nil
	}
	waits := sets.Set[string]{}
	for _, item := range f.items {
		key, err := f.keyOf(item.Object)
		if err != nil {
			return KeyError{Obj: item, Err: err}
		}
		waits.Insert(key)
	}
	for _, key := range f.known.ListKeys() {
		if waits.Has(key) {
			continue
		}
		obj := lookUp(f.log, f.known, key)
		if obj == nil {
			continue
		}
		if err := f.enterLocked(Sync, obj, true); err != nil {
			return fmt.Errorf("couldn't queue object: %w", err)
		}
	}
	return nil
}

// HasSynced reports whether the first batch has been processed.
func (f *RealFIFO) HasSynced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.initial.over
}

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (f *RealFIFO) HasSyncedChecker() DoneChecker { return f }

// Name is the name of the queue.
func (f *RealFIFO) Name() string { return f.name }

// Done is closed when the first batch has been processed.
func (f *RealFIFO) Done() <-chan struct{} { return f.initial.done }

// Close wakes those who wait in Pop.
func (f *RealFIFO) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

// IsClosed reports whether Close was called.
func (f *RealFIFO) IsClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// slowBatch is the most that a batch may take before it is called slow.
const slowBatch = time.Second
