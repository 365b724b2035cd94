package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform"
	kcore "github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// sharedIndexInformer is client-go's shared informer on kinform's engine: the
// engine lists, watches, stores and delivers; this type has the classic methods and
// their rules of what may be called when.
type sharedIndexInformer struct {
	indexer       *sharedIndexer
	view          *engine.View
	objectType    runtime.Object
	description   string
	defaultResync time.Duration
	detector      MutationDetector
	transform     atomic.Pointer[TransformFunc]
	lw            ListerWatcher
	synced        chan struct{}
	shell         *reflectorShell // what the watch error handler is given
	packing       packing         // of what comes as objects
	meters        *meters         // for client-go's provider of metrics; nil: there is none
	tracer        kinform.Tracer  // of the handlers' calls; nil: none
	secrecy       kcore.Secrecy   // what may be quoted of its objects
	scoping       sync.Mutex      // held while the scope changes
	// scope is the present one; nil: that which it was made with.
	scope atomic.Pointer[kinform.Scope]

	mu          sync.Mutex
	core        *core           // the one that it runs on, from its start on
	grown       <-chan struct{} // if not nil, closed when the core has what the informer needs
	started     bool
	live        bool // it reads the core's store, and its handlers are subscribed
	stopped     bool
	resyncCheck time.Duration // the shortest resync period of a handler
	watchError  WatchErrorHandlerWithContext
	watchErrorF any // watchError as it was given
	handlers    map[*registration]bool
	joined      int // how many handlers have joined so far
	runContext  context.Context
}

var errStarted = errors.New("informer has already started")

// SetWatchErrorHandler sets what is called when a list or a watch fails. It must
// be called before the informer runs.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler WatchErrorHandler) error {
	return s.setWatchError(handler, func(_ context.Context, r *clientgo.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext is SetWatchErrorHandler with the context of Run.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error {
	return s.setWatchError(handler, handler)
}

func (s *sharedIndexInformer) setWatchError(given any, handler WatchErrorHandlerWithContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	s.watchError, s.watchErrorF = handler, given
	return nil
}

// SetTransform sets what each object goes through before anybody sees it. It must
// be called before the informer runs.
func (s *sharedIndexInformer) SetTransform(f TransformFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	s.transform.Store(&f)
	s.view.Alters = true
	return nil
}

// transformer returns the transform, or nil. It takes no lock: it is called while
// the engine holds its own.
func (s *sharedIndexInformer) transformer() TransformFunc {
	if f := s.transform.Load(); f != nil {
		return *f
	}
	return nil
}

// Run keeps the store up to date and calls the handlers until stop is closed.
func (s *sharedIndexInformer) Run(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	s.RunWithContext(ctx)
}

// RunWithContext is Run with a context. An informer runs once.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	if !s.start(ctx) {
		klog.FromContext(ctx).Info("Warning: the informer has been run already; this call does nothing", "informer", s.description)
		return
	}
	var detecting sync.WaitGroup
	stopDetecting := make(chan struct{})
	detecting.Go(func() { s.detector.Run(stopDetecting) })
	// The detector outlives the handlers, so that it sees what the last of them did.
	defer detecting.Wait()
	defer close(stopDetecting)
	s.core.run()
	defer s.stop()
	select {
	case <-s.readable():
		s.goLive()
		close(s.synced)
		s.resyncUntil(ctx)
	case <-ctx.Done():
	}
}

func (s *sharedIndexInformer) start(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return false
	}
	s.started, s.runContext = true, ctx
	for !s.core.join(s) {
		// Other informers have run and ended it since this informer was made.
		s.core, s.grown = sharedCore(s.description, s.lw.(*dropin.ListWatch))
	}
	if s.meters != nil {
		s.core.reporting()
	}
	if s.grown == nil {
		s.goLiveLocked()
	}
	return true
}

// readable is closed when the store has what the informer shows.
func (s *sharedIndexInformer) readable() <-chan struct{} {
	if s.grown != nil {
		return s.grown
	}
	return s.core.Synced()
}

func (s *sharedIndexInformer) goLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		s.goLiveLocked()
	}
}

// goLiveLocked makes the core's store the informer's, and subscribes its handlers. A
// core that has yet to grow has too little for the informer's index functions and
// handlers.
func (s *sharedIndexInformer) goLiveLocked() {
	s.live = true
	if s.core.lazy != nil {
		s.indexer.moveTo(s.core.Collection, fmt.Sprintf("%p/", s))
	}
	for r := range s.handlers {
		r.subscribe()
	}
}

// stop lets no more handlers join, and waits until the present ones have returned.
// It removes its indexes from a store that others continue to use.
func (s *sharedIndexInformer) stop() {
	s.mu.Lock()
	s.stopped = true
	handlers := slices.Collect(maps.Keys(s.handlers))
	s.mu.Unlock()
	// The watch ends first, then the handlers, all of them at once.
	ended := s.core.leave(s)
	var left []<-chan struct{}
	for _, r := range handlers {
		if r.sub != nil {
			left = append(left, r.sub.Leave())
		}
	}
	for _, ch := range append(left, ended) {
		<-ch
	}
	if s.core.lazy != nil && !s.core.isSpent() {
		s.indexer.leave()
	}
}

// GiveUp empties the store of an informer that has ended. Factories call it when the last
// lease is released. What others have shared can still be read by them, and is given up
// when nobody refers to it.
func (s *sharedIndexInformer) GiveUp() {
	s.mu.Lock()
	c := s.core
	s.mu.Unlock()
	if c.wasAlone() {
		_ = c.Clear() // it does not run
	}
}

// IsStopped reports whether the informer has ended, or is about to.
func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// HasSynced reports whether the store has had its first list.
func (s *sharedIndexInformer) HasSynced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
}

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (s *sharedIndexInformer) HasSyncedChecker() DoneChecker {
	return doneChecker{fmt.Sprintf("SharedIndexInformer %T", s.objectType), s.synced}
}

type doneChecker struct {
	name string
	done <-chan struct{}
}

func (d doneChecker) Name() string          { return d.name }
func (d doneChecker) Done() <-chan struct{} { return d.done }

// LastSyncResourceVersion is the version that the store has reached.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return ""
	}
	return s.core.Version().String()
}

// Health says what the informer is doing, and what went wrong.
func (s *sharedIndexInformer) Health() []engine.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Status()
}

// GetStore returns the store.
func (s *sharedIndexInformer) GetStore() Store { return s.indexer }

// GetIndexer returns the store with its indexes.
func (s *sharedIndexInformer) GetIndexer() Indexer { return s.indexer }

// AddIndexers adds indexes, while the informer has not stopped.
func (s *sharedIndexInformer) AddIndexers(indexers Indexers) error {
	if s.IsStopped() {
		return errors.New("indexer was not added because it has stopped already")
	}
	return s.indexer.AddIndexers(indexers)
}

// GetController returns a controller that shows the informer's progress. It cannot
// be run by itself.
func (s *sharedIndexInformer) GetController() Controller { return sharedController{s} }

type sharedController struct{ *sharedIndexInformer }

func (sharedController) Run(<-chan struct{})            {}
func (sharedController) RunWithContext(context.Context) {}

// failed calls the watch error handler.
func (s *sharedIndexInformer) failed(err error) {
	s.mu.Lock()
	handler, ctx := s.watchError, s.runContext
	s.mu.Unlock()
	if handler == nil {
		handler = DefaultWatchErrorHandler
	}
	handler(ctx, s.shell.at(s.core.Version().String()), err)
}
