package cache

import "fmt"

// StoreOption configures [NewStore] and [NewIndexer].
type StoreOption = func(*store)

// WithTransformer changes each object before it is stored by Add, Update or
// Replace. Its key is that of the object as it came.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(s *store) { s.transform = transformer }
}

// WithStoreMetrics reports the store's resource version. Without a provider, the
// one of [SetInformerMetricsProvider] is taken.
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(s *store) { s.gauge = newVersionGauge(identifier, metrics) }
}

// NewStore returns a store without indexes.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store {
	return newStore(keyFunc, nil, opts)
}

// NewIndexer returns a store with indexes.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	return newStore(keyFunc, indexers, opts)
}

// store is a [ThreadSafeStore] that knows the keys of its objects. It implements
// [Indexer] and [TransactionStore].
type store struct {
	*threadSafeMap
	keyFunc   KeyFunc
	transform TransformFunc
}

func newStore(keyFunc KeyFunc, indexers Indexers, opts []StoreOption) *store {
	s := &store{threadSafeMap: newThreadSafeMap(indexers, nil), keyFunc: keyFunc}
	for _, option := range opts {
		option(s)
	}
	return s
}

func (s *store) Add(obj any) error { return s.Update(obj) }

func (s *store) Update(obj any) error {
	key, obj, err := s.admit(obj)
	if err != nil {
		return err
	}
	s.threadSafeMap.Update(key, obj)
	return nil
}

func (s *store) Delete(obj any) error {
	key, err := s.key(obj)
	if err != nil {
		return err
	}
	s.threadSafeMap.DeleteWithObject(key, obj)
	return nil
}

func (s *store) Get(obj any) (item any, exists bool, err error) {
	key, err := s.key(obj)
	if err != nil {
		return nil, false, err
	}
	return s.GetByKey(key)
}

func (s *store) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = s.threadSafeMap.Get(key)
	return item, exists, nil
}

// Replace changes nothing when one of the objects has no key or cannot be
// transformed.
func (s *store) Replace(list []any, resourceVersion string) error {
	items := make(map[string]any, len(list))
	for _, obj := range list {
		key, obj, err := s.admit(obj)
		if err != nil {
			return err
		}
		items[key] = obj
	}
	s.threadSafeMap.Replace(items, resourceVersion)
	return nil
}

// Transaction leaves out objects that have no key, and does the rest. Objects are
// stored as they are given, not transformed.
func (s *store) Transaction(txns ...Transaction) *TransactionError {
	keyed := make([]ThreadSafeStoreTransaction, 0, len(txns))
	done := make([]int, 0, len(txns))
	var errs []error
	for i, t := range txns {
		key, err := s.key(t.Object)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, i)
		keyed = append(keyed, ThreadSafeStoreTransaction{Transaction: t, Key: key})
	}
	s.threadSafeMap.Transaction(keyed...)
	if len(errs) == 0 {
		return nil
	}
	return &TransactionError{SuccessfulIndices: done, TotalTransactions: len(txns), Errors: errs}
}

// admit gives the key of an object and what is to be stored of it.
func (s *store) admit(obj any) (string, any, error) {
	key, err := s.key(obj)
	if err != nil || s.transform == nil {
		return key, obj, err
	}
	transformed, err := s.transform(obj)
	if err != nil {
		return "", nil, fmt.Errorf("transforming: %w", err)
	}
	return key, transformed, nil
}

func (s *store) key(obj any) (string, error) {
	key, err := s.keyFunc(obj)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}
