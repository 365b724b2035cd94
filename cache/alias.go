package cache

import clientgo "k8s.io/client-go/tools/cache"

// Where objects are kept.
type (
	Store                          = clientgo.Store
	Indexer                        = clientgo.Indexer
	ThreadSafeStore                = clientgo.ThreadSafeStore
	ThreadSafeStoreWithTransaction = clientgo.ThreadSafeStoreWithTransaction
	ThreadSafeStoreTransaction     = clientgo.ThreadSafeStoreTransaction
	Transaction                    = clientgo.Transaction
	TransactionError               = clientgo.TransactionError
	TransactionStore               = clientgo.TransactionStore
	TransactionType                = clientgo.TransactionType

	Indexers  = clientgo.Indexers
	IndexFunc = clientgo.IndexFunc
	Indices   = clientgo.Indices

	KeyFunc         = clientgo.KeyFunc
	KeyError        = clientgo.KeyError
	KeyGetter       = clientgo.KeyGetter
	KeyLister       = clientgo.KeyLister
	KeyListerGetter = clientgo.KeyListerGetter
	ExplicitKey     = clientgo.ExplicitKey
	ObjectName      = clientgo.ObjectName
)

// What a [TransactionStore] can be asked to do.
const (
	TransactionTypeAdd    = clientgo.TransactionTypeAdd
	TransactionTypeUpdate = clientgo.TransactionTypeUpdate
	TransactionTypeDelete = clientgo.TransactionTypeDelete
)

// NamespaceIndex is the name under which informers index by namespace.
const NamespaceIndex = clientgo.NamespaceIndex

// Queues and what passes through them.
type (
	Queue          = clientgo.Queue
	QueueWithBatch = clientgo.QueueWithBatch

	Delta     = clientgo.Delta
	Deltas    = clientgo.Deltas
	DeltaType = clientgo.DeltaType

	DeletedFinalStateUnknown = clientgo.DeletedFinalStateUnknown
	ReplacedAllInfo          = clientgo.ReplacedAllInfo
	SyncAllInfo              = clientgo.SyncAllInfo
	BookmarkInfo             = clientgo.BookmarkInfo

	PopProcessFunc   = clientgo.PopProcessFunc
	ProcessFunc      = clientgo.ProcessFunc
	ProcessBatchFunc = clientgo.ProcessBatchFunc
	TransformFunc    = clientgo.TransformFunc

	DeltaFIFOOptions = clientgo.DeltaFIFOOptions
	RealFIFOOptions  = clientgo.RealFIFOOptions
)

// What happened to an object, or to all of them.
const (
	Added       = clientgo.Added
	Updated     = clientgo.Updated
	Deleted     = clientgo.Deleted
	Replaced    = clientgo.Replaced
	ReplacedAll = clientgo.ReplacedAll
	Sync        = clientgo.Sync
	SyncAll     = clientgo.SyncAll
	Bookmark    = clientgo.Bookmark
)

var (
	// ErrFIFOClosed is what Pop returns once a queue is closed and empty.
	ErrFIFOClosed = clientgo.ErrFIFOClosed
	// ErrZeroLengthDeltasObject stands in the [KeyError] for empty Deltas.
	ErrZeroLengthDeltasObject = clientgo.ErrZeroLengthDeltasObject
)

// Where objects come from.
type (
	Lister                   = clientgo.Lister
	ListerWithContext        = clientgo.ListerWithContext
	Watcher                  = clientgo.Watcher
	WatcherWithContext       = clientgo.WatcherWithContext
	ListerWatcher            = clientgo.ListerWatcher
	ListerWatcherWithContext = clientgo.ListerWatcherWithContext
	ListWatch                = clientgo.ListWatch
	ListFunc                 = clientgo.ListFunc
	ListWithContextFunc      = clientgo.ListWithContextFunc
	WatchFunc                = clientgo.WatchFunc
	WatchFuncWithContext     = clientgo.WatchFuncWithContext
	Getter                   = clientgo.Getter
)

// What a [StoreReflector] needs and says. Reflector is what error handlers are
// given: it has the name, the type and the resource version of the reflector that
// failed, and reflects nothing itself.
type (
	Reflector                    = clientgo.Reflector
	ReflectorStore               = clientgo.ReflectorStore
	ReflectorBookmarkStore       = clientgo.ReflectorBookmarkStore
	TransformingStore            = clientgo.TransformingStore
	ResourceVersionUpdater       = clientgo.ResourceVersionUpdater
	ReflectorOptions             = clientgo.ReflectorOptions
	ShouldResyncFunc             = clientgo.ShouldResyncFunc
	VeryShortWatchError          = clientgo.VeryShortWatchError
	WatchErrorHandler            = clientgo.WatchErrorHandler
	WatchErrorHandlerWithContext = clientgo.WatchErrorHandlerWithContext
)

// Informers and their handlers.
type (
	Controller          = clientgo.Controller
	InformerOptions     = clientgo.InformerOptions
	SharedInformer      = clientgo.SharedInformer
	SharedIndexInformer = clientgo.SharedIndexInformer

	SharedIndexInformerOptions = clientgo.SharedIndexInformerOptions

	ResourceEventHandler              = clientgo.ResourceEventHandler
	ResourceEventHandlerFuncs         = clientgo.ResourceEventHandlerFuncs
	ResourceEventHandlerDetailedFuncs = clientgo.ResourceEventHandlerDetailedFuncs
	FilteringResourceEventHandler     = clientgo.FilteringResourceEventHandler
	ResourceEventHandlerRegistration  = clientgo.ResourceEventHandlerRegistration
	HandlerOptions                    = clientgo.HandlerOptions

	MutationDetector = clientgo.MutationDetector

	InformerSynced = clientgo.InformerSynced
	DoneChecker    = clientgo.DoneChecker
	SyncResult     = clientgo.SyncResult

	AppendFunc             = clientgo.AppendFunc
	GenericLister          = clientgo.GenericLister
	GenericNamespaceLister = clientgo.GenericNamespaceLister
)
