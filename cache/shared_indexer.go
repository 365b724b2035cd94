package cache

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	kcore "github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// sharedIndexer is the Indexer of a shared informer: the engine's collection,
// read in one view. It can be written, as tests do; no handler is called for that.
type sharedIndexer struct {
	view    *engine.View
	secrecy kcore.Secrecy
	version func() string // the version that the store has reached

	// store is the collection that is read: the informer's own, until it runs on one
	// that it shares.
	store atomic.Pointer[storeOf]

	mu       sync.Mutex
	indexers Indexers
}

// storeOf is a collection, and what the names of the informer's indexes start with
// where others have indexes in it, too. Once the informer has left it to others, it
// no longer has the informer's indexes.
type storeOf struct {
	*engine.Collection
	prefix string
	left   bool
}

// moveTo makes another collection the store.
func (x *sharedIndexer) moveTo(c *engine.Collection, prefix string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	to := &storeOf{Collection: c, prefix: prefix}
	x.store.Store(to)
	if err := x.index(to, x.indexers); err != nil {
		panic(err) // cannot happen: the prefix is unique
	}
}

func (x *sharedIndexer) object(r *engine.Record, use engine.Use) (any, error) {
	if r == nil {
		return nil, nil
	}
	return x.store.Load().Decode(r, x.view, use)
}

// Add stores an object.
func (x *sharedIndexer) Add(obj any) error { return x.Update(obj) }

// Update stores an object.
func (x *sharedIndexer) Update(obj any) error {
	r, err := x.record(obj)
	if err != nil {
		return err
	}
	x.store.Load().Edit([]engine.Change{{Record: r}})
	return nil
}

func (x *sharedIndexer) record(obj any) (*engine.Record, error) {
	if _, err := MetaNamespaceKeyFunc(obj); err != nil {
		return nil, KeyError{Obj: obj, Err: err}
	}
	return x.store.Load().NewRecord(obj)
}

// Delete removes an object.
func (x *sharedIndexer) Delete(obj any) error {
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	if r := x.store.Load().Get(key); r != nil {
		x.store.Load().Edit([]engine.Change{{Record: r, Gone: true}})
	}
	return nil
}

// Replace makes the store equal to a list.
func (x *sharedIndexer) Replace(list []any, _ string) error {
	listed := map[string]bool{}
	var changes []engine.Change
	for _, obj := range list {
		r, err := x.record(obj)
		if err != nil {
			return err
		}
		listed[r.Key()] = true
		changes = append(changes, engine.Change{Record: r})
	}
	for r := range x.store.Load().All() {
		if !listed[r.Key()] {
			changes = append(changes, engine.Change{Record: r, Gone: true})
		}
	}
	x.store.Load().Edit(changes)
	return nil
}

// Resync does nothing: the informer resyncs the handlers.
func (x *sharedIndexer) Resync() error { return nil }

// List returns every object.
func (x *sharedIndexer) List() []any {
	return x.store.Load().Objects(x.view)
}

// ListKeys returns every key.
func (x *sharedIndexer) ListKeys() []string {
	keys := make([]string, 0, x.store.Load().Len())
	for r := range x.store.Load().All() {
		keys = append(keys, r.Key())
	}
	return keys
}

// Get returns the stored object of obj's key.
func (x *sharedIndexer) Get(obj any) (any, bool, error) {
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, KeyError{Obj: obj, Err: err}
	}
	return x.GetByKey(key)
}

// GetByKey returns the object of a key.
func (x *sharedIndexer) GetByKey(key string) (any, bool, error) {
	obj, err := x.store.Load().Object(key, x.view)
	return obj, err == nil && obj != nil, err
}

// LastStoreSyncResourceVersion is the version that the store has reached.
func (x *sharedIndexer) LastStoreSyncResourceVersion() string { return x.version() }

// Bookmark does nothing: the engine keeps the version itself.
func (x *sharedIndexer) Bookmark(string) {}

// The records themselves, for dropin.Records.

// Record returns the record of a key, or nil.
func (x *sharedIndexer) Record(key string) *engine.Record { return x.store.Load().Get(key) }

// Records yields all records.
func (x *sharedIndexer) Records() iter.Seq[*engine.Record] { return x.store.Load().All() }

// RecordsIn yields the records of a namespace.
func (x *sharedIndexer) RecordsIn(namespace string) iter.Seq[*engine.Record] {
	return x.store.Load().Namespace(namespace)
}

// RecordsBy yields the records that have a value of an index.
func (x *sharedIndexer) RecordsBy(index, value string) iter.Seq[*engine.Record] {
	return x.byIndex(index, value)
}

// Has reports whether a record has a value of an index. Of a state that is not in the
// store any more, the function of the index tells.
func (x *sharedIndexer) Has(r *engine.Record, index, value string) bool {
	if s := x.store.Load(); !s.left {
		if has, known := s.Has(r, s.prefix+index, value); known {
			return has
		}
	}
	f, err := x.indexFunc(index)
	if err != nil {
		return false
	}
	obj, err := x.object(r, engine.Pass)
	if err != nil {
		return false
	}
	values, err := contained(f, obj)
	return err == nil && slices.Contains(values, value)
}

// Object returns the object of a record, which is shared.
func (x *sharedIndexer) Object(r *engine.Record) (any, error) { return x.object(r, engine.Read) }

// Wanted returns the object of a record if it is worth sharing, else nil.
func (x *sharedIndexer) Wanted(r *engine.Record, use engine.Use) (any, error) {
	return x.store.Load().Wanted(r, x.view, use)
}

// Alters reports whether a transform makes objects other than their records.
func (x *sharedIndexer) Alters() bool { return x.view.Alters }

var _ dropin.Records = (*sharedIndexer)(nil)
