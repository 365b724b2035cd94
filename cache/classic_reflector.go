package cache

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// StoreReflector keeps a store equal to what a source lists and watches.
//
//  1. It fills the store with one Replace: from a watch that begins with the
//     state of all objects, or, where that is off or fails, from a list.
//  2. It watches from there on, and turns events into Add, Update and Delete. A
//     watch that ends is resumed where it was.
//  3. Every resync period it asks ShouldResync and calls the store's Resync.
//  4. When a watch cannot be resumed, it calls the error handler, waits, and
//     begins again with 1.
//
// The exported fields must be set before it runs.
//
// It has the fields and methods of client-go's Reflector. The name Reflector is
// that of client-go's type, which error handlers are given.
type StoreReflector struct {
	// WatchListPageSize asks for lists in pages of this size. Default: pages of
	// 500 where the server does not answer from its cache anyway.
	WatchListPageSize int64
	// ShouldResync is asked before each resync. Default: yes.
	ShouldResync func() bool
	// MaxInternalErrorRetryDuration is how long a watch is resumed after internal
	// errors of the server. Default: not at all, it lists again.
	MaxInternalErrorRetryDuration time.Duration

	name            string
	typeDescription string
	expectedType    reflect.Type             // nil: any
	expectedGVK     *schema.GroupVersionKind // nil: any
	source          ListerWatcherWithContext
	store           ReflectorStore
	watchList       bool // fill the store from a watch
	resyncPeriod    time.Duration
	minWatchTimeout time.Duration
	delay           wait.DelayFunc
	clock           clock.Clock
	watchError      WatchErrorHandlerWithContext
	shell           *reflectorShell
	// inPages: the server did not answer the first list from its cache, so it can
	// be asked for pages without harm. Only list touches it.
	inPages bool

	mu sync.RWMutex
	// version is what the store has reached.
	version string
	// unavailable: the server could not serve version; ask for the newest.
	unavailable bool
}

const (
	// minWatchTimeout is the least that watches are asked to last, to spare the
	// server; each is asked for a random time from there to twice as long.
	minWatchTimeout = 5 * time.Minute

	backoffFirst = 800 * time.Millisecond
	backoffMost  = 30 * time.Second
	// backoffReset is how long there must be no failure for the backoff to start over.
	backoffReset = 2 * time.Minute
)

// NewReflector returns a reflector that is named after the place of this call.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *StoreReflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector returns a reflector with a name.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *StoreReflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewNamespaceKeyedIndexerAndReflector returns a reflector and the indexer that it
// keeps, which indexes by namespace.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *StoreReflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}

// NewReflectorWithOptions returns a reflector from lw into store. Watch events of
// another type than expectedType are left out; of an Unstructured, apiVersion and
// kind count as its type. A nil expectedType lets all pass.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *StoreReflector {
	r := &StoreReflector{
		name:            options.Name,
		typeDescription: options.TypeDescription,
		expectedType:    reflect.TypeOf(expectedType),
		expectedGVK:     unstructuredKind(expectedType),
		source:          ToListerWatcherWithContext(lw),
		store:           store,
		resyncPeriod:    options.ResyncPeriod,
		minWatchTimeout: max(options.MinWatchTimeout, minWatchTimeout),
		clock:           options.Clock,
		watchError:      DefaultWatchErrorHandler,
	}
	if r.name == "" {
		r.name = callSite()
	}
	if r.typeDescription == "" {
		r.typeDescription = describeType(expectedType)
	}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	backoff := options.Backoff
	if backoff == nil {
		backoff = &wait.Backoff{
			Duration: backoffFirst,
			Cap:      backoffMost,
			Steps:    int(math.Ceil(float64(backoffMost) / float64(backoffFirst))),
			Factor:   2,
			Jitter:   1,
		}
	}
	r.delay = backoff.DelayWithReset(r.clock, backoffReset)
	r.watchList = features.FeatureGates().Enabled(features.WatchListClient) &&
		!watchlist.DoesClientNotSupportWatchListSemantics(lw)
	r.shell = newReflectorShell(r.name, r.typeDescription)
	return r
}

// describeType names a type for people to read.
func describeType(expectedType any) string {
	if expectedType == nil {
		return "<unspecified>"
	}
	if kind := unstructuredKind(expectedType); kind != nil {
		return kind.String()
	}
	return reflect.TypeOf(expectedType).String()
}

// unstructuredKind is the kind that an Unstructured says it is, if it does.
func unstructuredKind(expectedType any) *schema.GroupVersionKind {
	object, ok := expectedType.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	kind := object.GroupVersionKind()
	if kind.Empty() {
		return nil
	}
	return &kind
}

// Name is the name of the reflector.
func (r *StoreReflector) Name() string { return r.name }

// TypeDescription names the type of the objects.
func (r *StoreReflector) TypeDescription() string { return r.typeDescription }

// Run lists and watches until stopCh is closed.
func (r *StoreReflector) Run(stopCh <-chan struct{}) {
	r.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext lists and watches until ctx ends.
func (r *StoreReflector) RunWithContext(ctx context.Context) {
	log := r.logger(ctx)
	log.V(3).Info("Starting reflector", "resyncPeriod", r.resyncPeriod)
	defer log.V(3).Info("Stopping reflector", "resyncPeriod", r.resyncPeriod)
	_ = r.delay.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := r.ListAndWatchWithContext(ctx); err != nil {
			r.watchError(ctx, r.shell.showing(r), err)
		}
		return false, nil
	})
}

// ListAndWatch fills the store once and watches as long as watches can be resumed.
func (r *StoreReflector) ListAndWatch(stopCh <-chan struct{}) error {
	return r.ListAndWatchWithContext(wait.ContextForChannel(stopCh))
}

// ListAndWatchWithContext fills the store once and watches as long as watches can
// be resumed. It returns an error if the store could not be filled or no watch
// begun; the end of ctx, or of a watch, is none.
func (r *StoreReflector) ListAndWatchWithContext(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	log := r.logger(ctx)
	log.V(3).Info("Listing and watching")
	w, err := r.fill(ctx)
	if ctx.Err() != nil {
		if w != nil {
			w.Stop()
		}
		return nil
	}
	if err != nil {
		return err
	}
	log.V(2).Info("Caches populated")
	err = r.watchAndResync(ctx, w)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// fill replaces what the store has. If that came from a watch, the watch is
// returned, to continue with.
func (r *StoreReflector) fill(ctx context.Context) (watch.Interface, error) {
	if r.watchList {
		w, err := r.fillFromWatch(ctx)
		if err == nil || ctx.Err() != nil {
			return w, nil
		}
		r.logger(ctx).V(4).Info("The state of all objects could not be had from a watch, listing them", "err", err)
	}
	return nil, r.fillFromList(ctx)
}

// watchAndResync watches, and resyncs at the same time.
func (r *StoreReflector) watchAndResync(ctx context.Context, w watch.Interface) error {
	resyncFailed := make(chan error, 1)
	if r.resyncPeriod > 0 {
		resyncing, stop := context.WithCancel(ctx)
		var resync sync.WaitGroup
		resync.Go(func() {
			defer utilruntime.HandleCrashWithContext(resyncing)
			r.resync(resyncing, resyncFailed)
		})
		defer resync.Wait()
		defer stop()
	}
	return r.watch(ctx, w, resyncFailed)
}

// resync calls the store's Resync until ctx ends or the store fails.
func (r *StoreReflector) resync(ctx context.Context, failed chan<- error) {
	for {
		timer := r.clock.NewTimer(r.resyncPeriod)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		if r.ShouldResync != nil && !r.ShouldResync() {
			continue
		}
		r.logger(ctx).V(4).Info("Forcing resync")
		if err := r.store.Resync(); err != nil {
			failed <- err
			return
		}
	}
}

// pause waits for the backoff; false: ctx ended before that.
func (r *StoreReflector) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.clock.After(r.delay()):
		return true
	}
}

// watchTimeout spreads the ends of watches over time.
func (r *StoreReflector) watchTimeout() *int64 {
	seconds := int64(r.minWatchTimeout.Seconds() * (1 + rand.Float64()))
	return &seconds
}

func (r *StoreReflector) logger(ctx context.Context) klog.Logger {
	return klog.FromContext(ctx).WithValues("reflector", r.name, "type", r.typeDescription)
}

// LastSyncResourceVersion is what the store has reached.
func (r *StoreReflector) LastSyncResourceVersion() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.version
}

func (r *StoreReflector) setVersion(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
}

func (r *StoreReflector) setUnavailable(unavailable bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unavailable = unavailable
}

// listVersion is what to list at: whatever the server has in its cache at first,
// not older than what we have after that, and the newest if the server could not
// serve that.
func (r *StoreReflector) listVersion() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case r.unavailable:
		return ""
	case r.version == "":
		return "0"
	}
	return r.version
}

// streamVersion is what a watch that brings the state of all objects begins at:
// not older than what we have, else the newest.
func (r *StoreReflector) streamVersion() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.unavailable {
		return ""
	}
	return r.version
}
