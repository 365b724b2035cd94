package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	clientgo "k8s.io/client-go/tools/cache"
)

// Config is what a controller is made of: a [StoreReflector] that fills a queue, and a
// loop that empties it.
type Config struct {
	// Queue between the two. What its Pop hands out is what Process gets.
	Queue

	// ListerWatcher is where objects come from.
	ListerWatcher

	// Process what the queue hands out.
	Process ProcessFunc

	// ProcessBatch processes several changes at once, if the queue is a
	// [QueueWithBatch]. It must do what Process does. Default: one by one.
	ProcessBatch ProcessBatchFunc

	// ObjectType is an example of the objects.
	ObjectType runtime.Object

	// ObjectDescription names their type in logs. Default: the type of ObjectType.
	ObjectDescription string

	// FullResyncPeriod is how often ShouldResync is asked. Default: never.
	FullResyncPeriod time.Duration

	// MinWatchTimeout is the least that watches are asked to last. Default, and
	// minimum: 5 minutes.
	MinWatchTimeout time.Duration

	// ShouldResync decides about a resync of the queue. Default: yes.
	ShouldResync ShouldResyncFunc

	// RetryOnError puts back what Process failed for, unless something newer of
	// the same object waits. The queue must be able to take it: a [DeltaFIFO] is.
	RetryOnError bool

	// WatchErrorHandler is called when a list or a watch fails. Default:
	// WatchErrorHandlerWithContext, else [DefaultWatchErrorHandler].
	WatchErrorHandler WatchErrorHandler

	// WatchErrorHandlerWithContext is WatchErrorHandler with the context of Run.
	WatchErrorHandlerWithContext WatchErrorHandlerWithContext

	// WatchListPageSize asks for lists in pages of this size.
	WatchListPageSize int64
}

// New returns a controller. It runs once.
func New(c *Config) Controller {
	return &controller{config: *c, name: callSite()}
}

type controller struct {
	config  Config
	name    string
	handler *deltaHandler // what Process does, if that is this package's

	mu        sync.RWMutex
	reflector *StoreReflector // nil before Run
}

// Run is RunWithContext with a channel.
func (c *controller) Run(stopCh <-chan struct{}) {
	c.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext runs the reflector and the loop, until ctx ends and both have.
func (c *controller) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		c.config.Queue.Close()
	})
	r := c.newReflector(ctx)
	var reflecting sync.WaitGroup
	reflecting.Go(func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		r.RunWithContext(ctx)
	})
	// If the program is configured to survive panics, a loop that panicked starts
	// again; if not, the panic must not wait for the others.
	wait.UntilWithContext(ctx, c.processLoop, time.Second)
	reflecting.Wait()
	<-closed
}

func (c *controller) newReflector(ctx context.Context) *StoreReflector {
	log := klog.FromContext(ctx)
	r := NewReflectorWithOptions(c.config.ListerWatcher, c.config.ObjectType, c.config.Queue, ReflectorOptions{
		Logger:          &log,
		Name:            c.name,
		TypeDescription: c.config.ObjectDescription,
		ResyncPeriod:    c.config.FullResyncPeriod,
		MinWatchTimeout: c.config.MinWatchTimeout,
	})
	r.ShouldResync = c.config.ShouldResync
	r.WatchListPageSize = c.config.WatchListPageSize
	if handler := c.config.WatchErrorHandler; handler != nil {
		r.watchError = func(_ context.Context, shell *clientgo.Reflector, err error) { handler(shell, err) }
	} else if handler := c.config.WatchErrorHandlerWithContext; handler != nil {
		r.watchError = handler
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reflector = r
	return r
}

// processLoop empties the queue until it is closed or ctx ends. Errors of Process
// are ignored, except as RetryOnError says.
func (c *controller) processLoop(ctx context.Context) {
	pop := c.popper(ctx)
	for ctx.Err() == nil {
		if errors.Is(pop(), ErrFIFOClosed) {
			return
		}
	}
}

// popper chooses how the queue is emptied.
func (c *controller) popper(ctx context.Context) func() error {
	process := PopProcessFunc(c.config.Process)
	if c.config.RetryOnError {
		if retry, ok := c.config.Queue.(retryQueue); ok {
			return func() error { return popOrPutBack(retry, process) }
		}
		klog.FromContext(ctx).Error(nil, "RetryOnError has no effect: the queue cannot take back what was popped; use a DeltaFIFO of this package", "controller", c.name)
	}
	if batches, ok := c.config.Queue.(QueueWithBatch); ok && c.config.ProcessBatch != nil {
		return func() error { return batches.PopBatch(c.config.ProcessBatch, process) }
	}
	return func() error {
		_, err := c.config.Queue.Pop(process)
		return err
	}
}

// retryQueue can take back what was popped.
type retryQueue interface {
	Queue
	AddIfNotPresent(obj any) error
}

func popOrPutBack(queue retryQueue, process PopProcessFunc) error {
	popped, err := queue.Pop(process)
	if err == nil || errors.Is(err, ErrFIFOClosed) {
		return err
	}
	return queue.AddIfNotPresent(popped)
}

// HasSynced reports whether the queue has handed out the first list.
func (c *controller) HasSynced() bool { return c.config.Queue.HasSynced() }

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (c *controller) HasSyncedChecker() DoneChecker { return c.config.Queue.HasSyncedChecker() }

// LastSyncResourceVersion is what the queue has been filled up to.
func (c *controller) LastSyncResourceVersion() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.reflector == nil {
		return ""
	}
	return c.reflector.LastSyncResourceVersion()
}
