//go:build !clientgo036

package cache

import (
	"k8s.io/klog/v2"

	clientgo "k8s.io/client-go/tools/cache"
)

// Handlers, indexers and informers that know the type of their objects.
type (
	Object                                           = clientgo.Object
	DeletedObject[T Object]                          = clientgo.DeletedObject[T]
	TypedResourceEventHandler[T Object]              = clientgo.TypedResourceEventHandler[T]
	TypedResourceEventHandlerFuncs[T Object]         = clientgo.TypedResourceEventHandlerFuncs[T]
	TypedResourceEventHandlerDetailedFuncs[T Object] = clientgo.TypedResourceEventHandlerDetailedFuncs[T]
	TypedFilteringResourceEventHandler[T Object]     = clientgo.TypedFilteringResourceEventHandler[T]
	TypedSharedIndexInformer[T Object]               = clientgo.TypedSharedIndexInformer[T]
	TypedIndexer[T any]                              = clientgo.TypedIndexer[T]
	TypedIndexers[T any]                             = clientgo.TypedIndexers[T]
	TypedIndexFunc[T any]                            = clientgo.TypedIndexFunc[T]

	MutationCacheOptions = clientgo.MutationCacheOptions
)

// TypedIndexersToIndexers makes functions of one type serve an [Indexer] of any.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	untyped := make(Indexers, len(indexers))
	for name, f := range indexers {
		untyped[name] = TypedIndexerFuncToIndexerFunc(f)
	}
	return untyped
}

// TypedIndexerFuncToIndexerFunc makes a function of one type serve an [Indexer]
// of any. It panics when it meets another type.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return func(obj any) ([]string, error) { return indexer(obj.(T)) }
}

// NewTypedSharedIndexInformer gives an informer methods that know the type of its
// objects.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return clientgo.NewTypedSharedIndexInformer[T](informer)
}

// NewIntegerResourceVersionMutationCacheWithOptions lays one's own writes over a
// store that has not seen them yet.
func NewIntegerResourceVersionMutationCacheWithOptions(logger klog.Logger, backingCache Store, options MutationCacheOptions) MutationCache {
	return clientgo.NewIntegerResourceVersionMutationCacheWithOptions(logger, backingCache, options)
}
