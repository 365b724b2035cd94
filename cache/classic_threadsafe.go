package cache

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinform/kinform/internal/pages"
)

// ThreadSafeStoreOption configures [NewThreadSafeStore].
type ThreadSafeStoreOption = func(*threadSafeMap)

// WithThreadSafeStoreMetrics reports the store's resource version. Without a
// provider, the one of [SetInformerMetricsProvider] is taken.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, metricsProvider InformerMetricsProvider) ThreadSafeStoreOption {
	return func(m *threadSafeMap) { m.gauge = newVersionGauge(identifier, metricsProvider) }
}

// NewThreadSafeStore returns an indexed map that many goroutines may use at once.
// It gives out the objects themselves, not copies: they must not be changed.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	return newThreadSafeMap(indexers, indices, opts...)
}

// threadSafeMap implements [ThreadSafeStoreWithTransaction].
//
// Two locks. write admits one writer at a time; its holder may read everything
// without mu. mu guards the moment of change against readers: it is held neither
// while a replacement is indexed, nor while a reader iterates over all objects.
type threadSafeMap struct {
	write sync.Mutex
	mu    sync.RWMutex
	items *items
	index storeIndex
	// version is the last one that came with an object, a list or a bookmark, in the
	// order of the calls.
	version string
	gauge   versionGauge
}

// items is objects by key, in pages, so that a list of them all is a snapshot.
type items struct {
	slots map[string]pages.Slot
	pages pages.Pages[any]
}

// absent stands for an object that is nil: to the pages, nil is a free place.
type absent struct{}

func newItems(objects map[string]any) *items {
	x := &items{slots: make(map[string]pages.Slot, len(objects))}
	for key, obj := range objects {
		x.put(key, obj)
	}
	return x
}

func (x *items) get(key string) (obj any, ok bool) {
	s, ok := x.slots[key]
	if !ok {
		return nil, false
	}
	return orNil(x.pages.At(s)), true
}

func orNil(obj any) any {
	if obj == (absent{}) {
		return nil
	}
	return obj
}

func (x *items) put(key string, obj any) {
	if obj == nil {
		obj = absent{}
	}
	if s, ok := x.slots[key]; ok {
		x.pages.Set(s, obj)
	} else {
		x.slots[key] = x.pages.Add(obj)
	}
}

func (x *items) remove(key string) {
	x.pages.Remove(x.slots[key])
	delete(x.slots, key)
}

func newThreadSafeMap(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) *threadSafeMap {
	m := &threadSafeMap{
		items: newItems(nil),
		index: newStoreIndex(indexers, indices),
		gauge: versionGauge{silent{}},
	}
	for _, option := range opts {
		option(m)
	}
	return m
}

// change calls f as the only writer, while nobody reads.
func (m *threadSafeMap) change(f func()) {
	m.write.Lock()
	defer m.write.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *threadSafeMap) Add(key string, obj any) { m.Update(key, obj) }

func (m *threadSafeMap) Update(key string, obj any) {
	version, known := versionOf(obj)
	m.change(func() {
		m.putLocked(key, obj)
		if known {
			m.setVersionLocked(version)
		}
	})
}

func (m *threadSafeMap) Delete(key string) { m.DeleteWithObject(key, nil) }

// DeleteWithObject takes the version from the final state of the object, if it
// is given.
func (m *threadSafeMap) DeleteWithObject(key string, obj any) {
	version, known := versionOf(obj)
	m.change(func() {
		m.removeLocked(key)
		if known {
			m.setVersionLocked(version)
		}
	})
}

// Transaction does all of it under one lock. The version is that of the last object.
func (m *threadSafeMap) Transaction(txns ...ThreadSafeStoreTransaction) {
	if len(txns) == 0 {
		return
	}
	version, known := versionOf(txns[len(txns)-1].Object)
	m.change(func() {
		for _, t := range txns {
			switch t.Type {
			case TransactionTypeAdd, TransactionTypeUpdate:
				m.putLocked(t.Key, t.Object)
			case TransactionTypeDelete:
				m.removeLocked(t.Key)
			}
		}
		if known {
			m.setVersionLocked(version)
		}
	})
}

// Replace builds the new contents next to the old ones, so that readers do not wait.
func (m *threadSafeMap) Replace(objects map[string]any, resourceVersion string) {
	m.write.Lock()
	defer m.write.Unlock()
	next, index := newItems(objects), storeIndex{indexers: m.index.indexers, indices: Indices{}}
	for key, obj := range objects {
		index.update(key, nil, obj)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items, m.index = next, index
	m.setVersionLocked(resourceVersion)
}

func (m *threadSafeMap) Bookmark(version string) {
	m.change(func() { m.setVersionLocked(version) })
}

func (m *threadSafeMap) putLocked(key string, obj any) {
	old, _ := m.items.get(key)
	m.items.put(key, obj)
	m.index.update(key, old, obj)
}

func (m *threadSafeMap) removeLocked(key string) {
	if old, ok := m.items.get(key); ok {
		m.index.update(key, old, nil)
		m.items.remove(key)
	}
}

func (m *threadSafeMap) setVersionLocked(version string) {
	m.version = version
	m.gauge.set(version)
}

// versionOf returns the resource version of an object that has metadata.
func versionOf(obj any) (string, bool) {
	if obj == nil {
		return "", false
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return "", false
	}
	return object.GetResourceVersion(), true
}

func (m *threadSafeMap) LastStoreSyncResourceVersion() string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.version
}

func (m *threadSafeMap) Get(key string) (item any, exists bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.items.get(key)
}

// List gives the objects as of one moment; changes do not wait for it.
func (m *threadSafeMap) List() []any {
	m.mu.RLock()
	n, all := m.items.pages.Len(), m.items.pages.Snapshot()
	m.mu.RUnlock()
	list := make([]any, 0, n)
	for obj := range all.All() {
		list = append(list, orNil(obj))
	}
	return list
}

func (m *threadSafeMap) ListKeys() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]string, 0, len(m.items.slots))
	for key := range m.items.slots {
		list = append(list, key)
	}
	return list
}

func (m *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys, err := m.index.keysLike(indexName, obj)
	if err != nil {
		return nil, err
	}
	return m.objectsLocked(keys), nil
}

func (m *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys, err := m.index.keysOf(indexName, indexedValue)
	if err != nil {
		return nil, err
	}
	return m.objectsLocked(keys), nil
}

func (m *threadSafeMap) objectsLocked(keys sets.Set[string]) []any {
	list := make([]any, 0, len(keys))
	for key := range keys {
		obj, _ := m.items.get(key)
		list = append(list, obj)
	}
	return list
}

// IndexKeys gives the keys in order.
func (m *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys, err := m.index.keysOf(indexName, indexedValue)
	if err != nil {
		return nil, err
	}
	return sets.List(keys), nil
}

func (m *threadSafeMap) ListIndexFuncValues(indexName string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.index.valuesOf(indexName)
}

// GetIndexers returns a copy: the store's own map would be read without its lock.
func (m *threadSafeMap) GetIndexers() Indexers {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.index.indexers)
}

// AddIndexers also indexes the stored objects by the new indexers.
func (m *threadSafeMap) AddIndexers(newIndexers Indexers) (err error) {
	m.change(func() {
		if err = m.index.add(newIndexers); err != nil {
			return
		}
		for key := range m.items.slots {
			obj, _ := m.items.get(key)
			for name := range newIndexers {
				m.index.updateOne(name, key, nil, obj)
			}
		}
	})
	return err
}

// RemoveIndexers is for [RemoveIndexers].
func (m *threadSafeMap) RemoveIndexers(names ...string) (err error) {
	m.change(func() { err = m.index.remove(names) })
	return err
}

// Resync has nothing to do: the store is the final state.
func (m *threadSafeMap) Resync() error { return nil }
