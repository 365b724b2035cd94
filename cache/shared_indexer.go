package cache

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/engine"
)

// sharedIndexer is the Indexer of a shared informer: the engine's collection,
// read in one view. It can be written, as tests do; nobody is told of that.
type sharedIndexer struct {
	view    *engine.View
	version func() string // the version that the store has reached

	// store is the collection that is read: one of the informer's own, until it
	// runs on one that it shares.
	store atomic.Pointer[storeOf]

	mu       sync.Mutex
	indexers Indexers
}

// storeOf is a collection, and what the names of the informer's indexes start with
// where others have indexes in it, too.
type storeOf struct {
	*engine.Collection
	prefix string
}

// moveTo makes another collection the store.
func (x *sharedIndexer) moveTo(c *engine.Collection, prefix string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	to := &storeOf{c, prefix}
	x.store.Store(to)
	for name, f := range x.indexers {
		if err := x.index(to, name, f); err != nil {
			panic(err) // the prefix is nobody else's
		}
	}
}

// namespaceIndex is the one index function that every factory sets.
var namespaceIndex = reflect.ValueOf(MetaNamespaceIndexFunc).Pointer()

// index adds an index to a collection.
func (x *sharedIndexer) index(to *storeOf, name string, f IndexFunc) error {
	isNamespace := reflect.ValueOf(f).Pointer() == namespaceIndex
	return to.AddIndex(engine.Indexer{Name: to.prefix + name, Values: func(r *engine.Record) ([]string, error) {
		if isNamespace && !x.view.Alters {
			return []string{r.Namespace()}, nil // nothing has to be decoded for it
		}
		obj, err := to.Decode(r, x.view, engine.Pass)
		if err != nil {
			return nil, err
		}
		return f(obj)
	}})
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

// Resync does nothing: the handlers' resyncs are the informer's business.
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

// Index returns the objects that share a value of an index with obj.
func (x *sharedIndexer) Index(name string, obj any) ([]any, error) {
	f, err := x.indexFunc(name)
	if err != nil {
		return nil, err
	}
	values, err := f(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return x.ByIndex(name, values[0])
	}
	var list []any
	seen := map[string]bool{}
	for _, v := range values {
		for r := range x.byIndex(name, v) {
			if seen[r.Key()] {
				continue
			}
			seen[r.Key()] = true
			if found, err := x.object(r, engine.Read); err == nil {
				list = append(list, found)
			}
		}
	}
	return list, nil
}

// ByIndex returns the objects that have a value of an index.
func (x *sharedIndexer) ByIndex(name, value string) ([]any, error) {
	if _, err := x.indexFunc(name); err != nil {
		return nil, err
	}
	s := x.store.Load()
	return s.ObjectsBy(s.prefix+name, value, x.view), nil
}

// IndexKeys returns the keys of the objects that have a value of an index.
func (x *sharedIndexer) IndexKeys(name, value string) ([]string, error) {
	if _, err := x.indexFunc(name); err != nil {
		return nil, err
	}
	var keys []string
	for r := range x.byIndex(name, value) {
		keys = append(keys, r.Key())
	}
	return keys, nil
}

// ListIndexFuncValues returns the values of an index.
func (x *sharedIndexer) ListIndexFuncValues(name string) []string {
	s := x.store.Load()
	return s.IndexValues(s.prefix + name)
}

// GetIndexers returns the index functions by name.
func (x *sharedIndexer) GetIndexers() Indexers {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.indexers)
}

// AddIndexers adds indexes over what is there and what will come. If one of the
// names is taken, none is added.
func (x *sharedIndexer) AddIndexers(added Indexers) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range added {
		if _, taken := x.indexers[name]; taken {
			return fmt.Errorf("indexer conflict: %s", name)
		}
	}
	for name, f := range added {
		if err := x.index(x.store.Load(), name, f); err != nil {
			return err
		}
		x.indexers[name] = f
	}
	return nil
}

func (x *sharedIndexer) byIndex(name, value string) iter.Seq[*engine.Record] {
	s := x.store.Load()
	return s.ByIndex(s.prefix+name, value)
}

func (x *sharedIndexer) indexFunc(name string) (IndexFunc, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, ok := x.indexers[name]
	if !ok {
		return nil, fmt.Errorf("Index with name %s does not exist", name) //nolint:staticcheck // client-go's words
	}
	return f, nil
}

// LastStoreSyncResourceVersion is the version that the store has reached.
func (x *sharedIndexer) LastStoreSyncResourceVersion() string { return x.version() }

// Bookmark does nothing: the engine keeps the version itself.
func (x *sharedIndexer) Bookmark(string) {}
