package cache

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

// NewInformerWithOptions returns a store and the controller that fills it and
// calls the handler for each change. The store is for reading.
func NewInformerWithOptions(options InformerOptions) (Store, Controller) {
	indexer := NewIndexer(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers,
		WithStoreMetrics(options.Identifier, options.InformerMetricsProvider))
	return indexer, newInformer(indexer, options)
}

// NewInformer is [NewInformerWithOptions] with positional options.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return NewIndexerInformer(lw, objType, resyncPeriod, h, nil)
}

// NewIndexerInformer is [NewInformer] with indexes.
func NewIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers) (Indexer, Controller) {
	return NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, indexers, nil)
}

// NewTransformingInformer is [NewInformer] with a function that each object goes
// through before it is stored and shown.
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, nil, transformer)
}

// NewTransformingIndexerInformer is [NewTransformingInformer] with indexes.
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	indexer := NewIndexer(DeletionHandlingMetaNamespaceKeyFunc, indexers)
	return indexer, newInformer(indexer, InformerOptions{
		ListerWatcher: lw,
		ObjectType:    objType,
		Handler:       h,
		ResyncPeriod:  resyncPeriod,
		Transform:     transformer,
	})
}

// newInformer wires reflector, queue, store and handler.
func newInformer(store Store, options InformerOptions) Controller {
	log := klog.Background()
	if options.Logger != nil {
		log = *options.Logger
	}
	queue := NewRealFIFOWithOptions(RealFIFOOptions{
		Logger:                &log,
		Name:                  fmt.Sprintf("RealFIFO %T", options.ObjectType),
		Transformer:           options.Transform,
		AtomicEvents:          true,
		UnlockWhileProcessing: true,
		EmitDeltaTypeBookmark: true,
		Identifier:            options.Identifier,
		MetricsProvider:       options.InformerMetricsProvider,
	})
	handler := &deltaHandler{log: queue.log, store: store, handler: options.Handler, keyFunc: DeletionHandlingMetaNamespaceKeyFunc}
	c := New(&Config{
		Queue:            queue,
		ListerWatcher:    options.ListerWatcher,
		ObjectType:       options.ObjectType,
		FullResyncPeriod: options.ResyncPeriod,
		MinWatchTimeout:  options.MinWatchTimeout,
		Process:          handler.process,
		ProcessBatch:     handler.processBatch,
	}).(*controller)
	c.handler = handler
	return c
}
