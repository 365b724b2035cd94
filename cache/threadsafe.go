package cache

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
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
type threadSafeMap struct {
	mu    sync.RWMutex
	items map[string]any
	index storeIndex
	// version is the newest that was told by an object, a list or a bookmark, in
	// the order of the calls.
	version string
	gauge   versionGauge
}

func newThreadSafeMap(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) *threadSafeMap {
	m := &threadSafeMap{
		items: map[string]any{},
		index: newStoreIndex(indexers, indices),
		gauge: versionGauge{silent{}},
	}
	for _, option := range opts {
		option(m)
	}
	return m
}

func (m *threadSafeMap) Add(key string, obj any) { m.Update(key, obj) }

func (m *threadSafeMap) Update(key string, obj any) {
	version, known := versionOf(obj)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked(key, obj)
	if known {
		m.setVersionLocked(version)
	}
}

func (m *threadSafeMap) Delete(key string) { m.DeleteWithObject(key, nil) }

// DeleteWithObject takes the version from the final state of the object, if it
// is given.
func (m *threadSafeMap) DeleteWithObject(key string, obj any) {
	version, known := versionOf(obj)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeLocked(key)
	if known {
		m.setVersionLocked(version)
	}
}

// Transaction does all of it under one lock. The last object tells the version.
func (m *threadSafeMap) Transaction(txns ...ThreadSafeStoreTransaction) {
	if len(txns) == 0 {
		return
	}
	version, known := versionOf(txns[len(txns)-1].Object)
	m.mu.Lock()
	defer m.mu.Unlock()
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
}

// Replace takes the map for its own.
func (m *threadSafeMap) Replace(items map[string]any, resourceVersion string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items = items
	m.setVersionLocked(resourceVersion)
	m.index.indices = Indices{}
	for key, obj := range m.items {
		m.index.update(key, nil, obj)
	}
}

func (m *threadSafeMap) Bookmark(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setVersionLocked(version)
}

func (m *threadSafeMap) putLocked(key string, obj any) {
	old := m.items[key]
	m.items[key] = obj
	m.index.update(key, old, obj)
}

func (m *threadSafeMap) removeLocked(key string) {
	if old, ok := m.items[key]; ok {
		m.index.update(key, old, nil)
		delete(m.items, key)
	}
}

func (m *threadSafeMap) setVersionLocked(version string) {
	m.version = version
	m.gauge.set(version)
}

// versionOf tells the resource version of an object that has metadata.
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
	item, exists = m.items[key]
	return item, exists
}

func (m *threadSafeMap) List() []any {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]any, 0, len(m.items))
	for _, obj := range m.items {
		list = append(list, obj)
	}
	return list
}

func (m *threadSafeMap) ListKeys() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]string, 0, len(m.items))
	for key := range m.items {
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
		list = append(list, m.items[key])
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

// GetIndexers gives a copy: the store's own would be read without its lock.
func (m *threadSafeMap) GetIndexers() Indexers {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.index.indexers)
}

// AddIndexers indexes what is there by the new indexers, too.
func (m *threadSafeMap) AddIndexers(newIndexers Indexers) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.index.add(newIndexers); err != nil {
		return err
	}
	for key, obj := range m.items {
		for name := range newIndexers {
			m.index.updateOne(name, key, nil, obj)
		}
	}
	return nil
}

// Resync has nothing to do: the store is the final state.
func (m *threadSafeMap) Resync() error { return nil }
