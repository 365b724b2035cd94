package cache

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/kinform/kinform/internal/engine"
)

// The indexes of a shared informer. They are the collection's while the informer runs
// on it; of an informer that has left it to others, they are computed when somebody
// asks.

// namespaceIndex is the one index function that every factory sets.
var namespaceIndex = reflect.ValueOf(MetaNamespaceIndexFunc).Pointer()

// index adds indexes to a collection.
func (x *sharedIndexer) index(to *storeOf, indexers Indexers) error {
	if len(indexers) == 0 {
		return nil
	}
	var all []engine.Indexer
	for name, f := range indexers {
		all = append(all, x.indexerOf(to, name, f))
	}
	return to.AddIndexes(all...)
}

func (x *sharedIndexer) indexerOf(to *storeOf, name string, f IndexFunc) engine.Indexer {
	isNamespace := reflect.ValueOf(f).Pointer() == namespaceIndex
	var only [1]string // the collection calls it for one record at a time, and copies what it gets
	values := func(r *engine.Record) ([]string, error) {
		if isNamespace && !x.view.Alters {
			only[0] = r.Namespace() // nothing has to be decoded for it
			return only[:], nil
		}
		obj, err := to.Decode(r, x.view, engine.Pass)
		if err != nil {
			return nil, err
		}
		return f(obj)
	}
	return engine.Indexer{Name: to.prefix + name, Values: x.secrecy.Values(values)}
}

// leave takes the informer's indexes and its objects out of a collection that others
// continue with.
func (x *sharedIndexer) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	from := x.store.Load()
	x.store.Store(&storeOf{Collection: from.Collection, prefix: from.prefix, left: true})
	for name := range x.indexers {
		_ = from.RemoveIndex(from.prefix + name) // it is there
	}
	from.ForgetView(x.view)
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
	for {
		s := x.store.Load()
		if s.left {
			return x.search(s, name, value), nil
		}
		found := s.ObjectsBy(s.prefix+name, value, x.view)
		if x.store.Load() == s { // else the index may have been removed meanwhile
			return found, nil
		}
	}
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
	for {
		s := x.store.Load()
		if s.left {
			return x.searchValues(s, name)
		}
		values := s.IndexValues(s.prefix + name)
		if x.store.Load() == s {
			return values
		}
	}
}

// GetIndexers returns the index functions by name.
func (x *sharedIndexer) GetIndexers() Indexers {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.indexers)
}

// AddIndexers adds indexes over present and future objects. If one of the
// names is taken, none is added.
func (x *sharedIndexer) AddIndexers(added Indexers) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range added {
		if _, taken := x.indexers[name]; taken {
			return fmt.Errorf("indexer conflict: %s", name)
		}
	}
	if s := x.store.Load(); !s.left {
		if err := x.index(s, added); err != nil {
			return err
		}
	}
	maps.Copy(x.indexers, added)
	return nil
}

// RemoveIndexers removes indexes. If one of the names is unknown, none is removed.
func (x *sharedIndexer) RemoveIndexers(names ...string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range names {
		if _, ok := x.indexers[name]; !ok {
			return noIndex(name)
		}
	}
	for _, name := range names {
		delete(x.indexers, name)
		if s := x.store.Load(); !s.left {
			_ = s.RemoveIndex(s.prefix + name) // a name may be given twice
		}
	}
	return nil
}

func (x *sharedIndexer) byIndex(name, value string) iter.Seq[*engine.Record] {
	for {
		s := x.store.Load()
		if s.left {
			return x.searchRecords(s, name, value)
		}
		found := s.ByIndex(s.prefix+name, value)
		if x.store.Load() == s {
			return found
		}
	}
}

func (x *sharedIndexer) indexFunc(name string) (IndexFunc, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, ok := x.indexers[name]
	if !ok {
		return nil, noIndex(name)
	}
	return f, nil
}

// search, searchRecords and searchValues compute what an index would have.
func (x *sharedIndexer) search(s *storeOf, name, value string) []any {
	found := []any{}
	for r := range x.searchRecords(s, name, value) {
		if obj, err := s.Decode(r, x.view, engine.Read); err == nil {
			found = append(found, obj)
		}
	}
	return found
}

func (x *sharedIndexer) searchRecords(s *storeOf, name, value string) iter.Seq[*engine.Record] {
	return func(yield func(*engine.Record) bool) {
		for r, values := range x.indexed(s, name) {
			if slices.Contains(values, value) && !yield(r) {
				return
			}
		}
	}
}

func (x *sharedIndexer) searchValues(s *storeOf, name string) []string {
	all := map[string]bool{}
	for _, values := range x.indexed(s, name) {
		for _, value := range values {
			all[value] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// indexed yields the records with their values of an index, without those that it
// fails for.
func (x *sharedIndexer) indexed(s *storeOf, name string) iter.Seq2[*engine.Record, []string] {
	return func(yield func(*engine.Record, []string) bool) {
		f, err := x.indexFunc(name)
		if err != nil {
			return
		}
		for r := range s.All() {
			obj, err := s.Decode(r, x.view, engine.Pass)
			if err != nil {
				continue
			}
			if values, err := contained(f, obj); err == nil && !yield(r, values) {
				return
			}
		}
	}
}

var errIndexPanicked = errors.New("the index function panicked")

// contained calls an index function; a panic becomes an error.
func contained(f IndexFunc, obj any) (values []string, err error) {
	defer func() {
		if recover() != nil {
			values, err = nil, errIndexPanicked
		}
	}()
	return f(obj)
}
