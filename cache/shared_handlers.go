package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/internal/engine"
)

// minimumResync is the shortest resync period that a handler can have.
const minimumResync = time.Second

// registration is one handler of a shared informer.
type registration struct {
	informer *sharedIndexInformer
	number   int // in the order in which handlers joined
	handler  ResourceEventHandler
	name     string         // of the handler
	filters  []updateFilter // none: it gets every update
	resync   time.Duration  // 0: never
	nextSync time.Time
	sub      *engine.Subscription // nil until the informer is started
	synced   chan struct{}
	ended    chan struct{}
	// unread has the objects whose newest state could not be read, and whether an
	// earlier state was delivered to the handler.
	unread map[string]bool
	// endSpan ends the span of the call under way; nil: there is none.
	endSpan func(panicked any)
}

// AddEventHandler adds a handler with the informer's own resync period.
func (s *sharedIndexInformer) AddEventHandler(h ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler with its own resync period.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(h ResourceEventHandler, resync time.Duration) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions adds a handler. One that joins late gets an add for
// every object of the store first.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(h ResourceEventHandler, o HandlerOptions) (ResourceEventHandlerRegistration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("handler %v was not added to shared informer because it has stopped already", h)
	}
	logger := klog.Background()
	if o.Logger != nil {
		logger = *o.Logger
	}
	resync := s.defaultResync
	if o.ResyncPeriod != nil {
		resync = *o.ResyncPeriod
	}
	h, filters, err := s.unwrap(h)
	if err != nil {
		return nil, err
	}
	r := &registration{
		informer: s,
		handler:  h,
		filters:  filters,
		resync:   s.resyncLocked(logger, resync),
		nextSync: time.Now(),
		synced:   make(chan struct{}),
		ended:    make(chan struct{}),
	}
	r.nextSync = r.nextSync.Add(r.resync)
	s.joined++
	r.number = s.joined
	s.handlers[r] = true
	if s.live {
		r.subscribe()
	}
	return r, nil
}

// resyncLocked rounds a handler's period: not below a second, and once the
// informer runs not below the period at which it checks. Before that, a shorter
// period makes the informer check more often.
func (s *sharedIndexInformer) resyncLocked(logger klog.Logger, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	if period < minimumResync {
		logger.Info("Warning: resync period is too short, the minimum is used", "period", period, "minimum", minimumResync)
		period = minimumResync
	}
	switch {
	case s.resyncCheck == 0:
		logger.Info("Warning: this informer does not resync, so the handler's resync period is not used", "period", period)
		return 0
	case period >= s.resyncCheck:
		return period
	case s.started:
		logger.Info("Warning: resync period is shorter than the informer's, which is used", "period", period, "informer", s.resyncCheck)
		return s.resyncCheck
	}
	s.resyncCheck = period
	return period
}

// resyncUntil resyncs the handlers, each at the first tick of the informer's check
// period at which its own period is over.
func (s *sharedIndexInformer) resyncUntil(ctx context.Context) {
	s.mu.Lock()
	check := s.resyncCheck
	s.mu.Unlock()
	if check <= 0 {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(check)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.resync(now)
		case <-ctx.Done():
			return
		}
	}
}

func (s *sharedIndexInformer) resync(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.handlers {
		if r.resync > 0 && !now.Before(r.nextSync) {
			r.nextSync = now.Add(r.resync)
			r.sub.Remind()
		}
	}
}

// RemoveEventHandler removes a handler; a call under way is its last. It does not
// wait, and does nothing for a handler that is not there.
func (s *sharedIndexInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("%T is not a registration of this informer", handle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.handlers[r] {
		return nil
	}
	delete(s.handlers, r)
	if r.sub == nil {
		close(r.ended)
		return nil
	}
	left := r.sub.Leave()
	go func() {
		<-left
		close(r.ended)
	}()
	return nil
}

// subscribe joins the engine; the informer is locked and live.
func (r *registration) subscribe() {
	r.name = handlerName(r.handler)
	o := engine.SubscribeOptions{
		Name:    r.name,
		OnPanic: crash,
		Synced:  r.synced,
		View:    r.informer.view,
	}
	if len(r.filters) > 0 {
		o.Filter = r.wants
	}
	if r.informer.tracer != nil {
		o.Trace = r.trace
	}
	r.sub = r.informer.core.Subscribe(r.informer.secrecy.Subscriber(r.deliver, o))
}

// HasSynced reports whether the handler has had every object of the initial list.
func (r *registration) HasSynced() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (r *registration) HasSyncedChecker() DoneChecker {
	name := r.informer.HasSyncedChecker().Name()
	return doneChecker{name + " + event handler " + handlerName(r.handler), r.synced}
}

// ShutdownChan is closed when a removed handler has returned for the last time.
func (r *registration) ShutdownChan() <-chan struct{} { return r.ended }

// isInside reports whether the caller is the handler itself.
func (r *registration) isInside() bool {
	r.informer.mu.Lock()
	sub := r.sub
	r.informer.mu.Unlock()
	return sub != nil && sub.Inside()
}

// crash treats a handler's panic as the program has configured apimachinery to treat
// panics: report it, and by default end the process.
func crash(_ string, value any, _ []byte) {
	defer utilruntime.HandleCrash()
	panic(value)
}

// deliver makes the classic call of a delta.
func (r *registration) deliver(ctx context.Context, d engine.Delta) {
	if r.informer.meters != nil {
		defer r.informer.handled(time.Now())
	}
	if _, unread := r.unread[d.Key()]; !unread && r.informer.heldOtherwise(d) {
		return // nothing is decoded for it
	}
	obj, err := r.informer.delivered(d)
	if err != nil {
		r.unreadable(ctx, d, err)
		return
	}
	delivered, unread := r.unread[d.Key()]
	delete(r.unread, d.Key())
	switch {
	case unread && !delivered && d.Kind == engine.Deleted:
		// No state of it was ever delivered.
	case d.Kind == engine.Added, unread && !delivered:
		r.informer.detector.AddObject(obj)
		r.calling(ctx, d).OnAdd(obj, d.Initial)
	case d.Kind == engine.Deleted && d.FinalStateUnknown:
		r.calling(ctx, d).OnDelete(DeletedFinalStateUnknown{Key: d.Key(), Obj: obj})
	case d.Kind == engine.Deleted:
		r.calling(ctx, d).OnDelete(obj)
	default:
		old, err := r.informer.object(d.Old)
		if err != nil {
			old = obj // the state before could not be read
		}
		if err == nil && r.informer.heldWhole(d) && equality.Semantic.DeepEqual(old, obj) {
			return
		}
		r.informer.detector.AddObject(obj)
		r.calling(ctx, d).OnUpdate(old, obj)
	}
}

// unreadable reports a state that cannot be delivered to the handler, and remembers
// whether an earlier state was, for when the object can be read again. The deletion
// of an object that was delivered is delivered as a tombstone, with its metadata if the
// state before cannot be read either.
func (r *registration) unreadable(ctx context.Context, d engine.Delta, err error) {
	utilruntime.HandleErrorWithContext(ctx, err, "object cannot be read, the handler is not called", "key", d.Key())
	delivered, unread := r.unread[d.Key()]
	if !unread {
		delivered = d.Kind != engine.Added
	}
	if d.Kind != engine.Deleted {
		if r.unread == nil {
			r.unread = map[string]bool{}
		}
		r.unread[d.Key()] = delivered
		return
	}
	delete(r.unread, d.Key())
	if delivered {
		last, err := r.informer.object(d.Old)
		if err != nil {
			last = r.informer.remains(d.New)
		}
		r.calling(ctx, d).OnDelete(DeletedFinalStateUnknown{Key: d.Key(), Obj: last})
	}
}

var errWrongHandle = errors.New("handle does not support ShutdownChan()")

// ShutDownEventHandler removes a handler and waits until it has returned for the
// last time. Called by the handler itself, it does not wait: the call under way is
// the last.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	h, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return errWrongHandle
	}
	if r, ok := handle.(*registration); ok && r.isInside() {
		return nil
	}
	<-h.ShutdownChan()
	return nil
}
