package cache

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// storeIndex finds keys of objects by values that are computed from them. It is
// guarded by the lock of the store that it belongs to.
type storeIndex struct {
	indexers Indexers
	// indices has, per index, the keys of each value; a value without keys is
	// dropped, or short-lived values would fill the memory.
	indices Indices
}

func newStoreIndex(indexers Indexers, indices Indices) storeIndex {
	own := make(Indexers, len(indexers))
	maps.Copy(own, indexers)
	if indices == nil {
		indices = Indices{}
	}
	return storeIndex{indexers: own, indices: indices}
}

// add takes new indexers; none may have the name of one that is there.
func (i *storeIndex) add(indexers Indexers) error {
	var taken []string
	for name := range indexers {
		if _, ok := i.indexers[name]; ok {
			taken = append(taken, name)
		}
	}
	if len(taken) > 0 {
		slices.Sort(taken)
		return fmt.Errorf("indexer conflict: %v", taken)
	}
	maps.Copy(i.indexers, indexers)
	return nil
}

// update moves a key from where the old state of its object put it to where the
// new state puts it; nil: there is no such state.
func (i *storeIndex) update(key string, old, new any) {
	for name := range i.indexers {
		i.updateOne(name, key, old, new)
	}
}

func (i *storeIndex) updateOne(name, key string, old, new any) {
	before := i.values(name, key, old)
	after := i.values(name, key, new)
	index := i.indices[name]
	if index == nil {
		index = map[string]sets.Set[string]{}
		i.indices[name] = index
	}
	if len(before) == 1 && len(after) == 1 && before[0] == after[0] {
		return
	}
	for _, value := range before {
		keys := index[value]
		keys.Delete(key)
		if len(keys) == 0 {
			delete(index, value)
		}
	}
	for _, value := range after {
		if index[value] == nil {
			index[value] = sets.Set[string]{}
		}
		index[value].Insert(key)
	}
}

// values computes the index values of an object. It panics if it cannot: the index
// would silently be wrong from then on.
func (i *storeIndex) values(name, key string, obj any) []string {
	if obj == nil {
		return nil
	}
	values, err := i.indexers[name](obj)
	if err != nil {
		panic(fmt.Errorf("unable to calculate an index entry for key %q on index %q: %w", key, name, err))
	}
	return values
}

// keysLike gives the keys of the objects that share a value with obj.
func (i *storeIndex) keysLike(name string, obj any) (sets.Set[string], error) {
	f, err := i.function(name)
	if err != nil {
		return nil, err
	}
	values, err := f(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return i.indices[name][values[0]], nil
	}
	keys := sets.Set[string]{}
	for _, value := range values {
		maps.Copy(keys, i.indices[name][value])
	}
	return keys, nil
}

// keysOf gives the keys of the objects that have a value.
func (i *storeIndex) keysOf(name, value string) (sets.Set[string], error) {
	if _, err := i.function(name); err != nil {
		return nil, err
	}
	return i.indices[name][value], nil
}

func (i *storeIndex) function(name string) (IndexFunc, error) {
	if f := i.indexers[name]; f != nil {
		return f, nil
	}
	return nil, noIndex(name)
}

func noIndex(name string) error {
	return fmt.Errorf("Index with name %s does not exist", name) //nolint:staticcheck // client-go's words
}

// RemoveIndexers removes indexes of an [Indexer] that this package made: their
// functions are no longer called. If one of the names is unknown, none is removed.
// client-go has nothing like it. For other stores it removes nothing and returns an
// error.
func RemoveIndexers(indexer Indexer, names ...string) error {
	x, ok := indexer.(interface{ RemoveIndexers(names ...string) error })
	if !ok {
		return fmt.Errorf("indexes of a %T cannot be removed", indexer)
	}
	return x.RemoveIndexers(names...)
}

// remove drops indexers and what they found.
func (i *storeIndex) remove(names []string) error {
	for _, name := range names {
		if _, err := i.function(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		delete(i.indexers, name)
		delete(i.indices, name)
	}
	return nil
}

func (i *storeIndex) valuesOf(name string) []string {
	values := make([]string, 0, len(i.indices[name]))
	for value := range i.indices[name] {
		values = append(values, value)
	}
	return values
}
