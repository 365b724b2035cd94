package cache

import (
	"context"
	"errors"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// errStopped: the events end because of a stop.
var errStopped = errors.New("stop requested")

const (
	// shortWatch is how long a watch without events must last to count as one.
	shortWatch = time.Second
	// While the state of all objects is incomplete, a watch that brings nothing causes
	// a warning, and some time later it is given up.
	silenceWarning = 10 * time.Second
	silenceLimit   = time.Minute
)

// events are the events of one watch, on their way into a store.
type events struct {
	r       *StoreReflector
	store   ReflectorStore
	started time.Time
	// inOrder: after each event the store has reached the event's version. If false,
	// that holds from the first event that is not an addition.
	inOrder bool
	// initial: the watch begins with the state of all objects, and is needed until
	// the bookmark that ends it.
	initial bool
	advance func(version string)

	count    int
	complete bool // that bookmark has come
	last     time.Time
}

// consume applies events until the watch ends, which is not an error unless it ended
// at once and without an event; until it breaks or is silent for too long; until
// the store cannot resync; or until ctx ends. The watch is left open.
func (e *events) consume(ctx context.Context, w watch.Interface, resyncFailed <-chan error) error {
	silence, stop := e.silenceTicker()
	defer stop()
	incoming := w.ResultChan()
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-resyncFailed:
			return err
		case <-silence:
			if e.silentTooLong(ctx) {
				return errIncomplete
			}
		case event, open := <-incoming:
			if !open {
				return e.ended()
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			e.apply(ctx, event)
			if e.initial && e.complete {
				return nil
			}
		}
	}
}

func (e *events) ended() error {
	if e.count == 0 && e.r.clock.Since(e.started) < shortWatch {
		return &VeryShortWatchError{Name: e.r.name}
	}
	return nil
}

// apply does to the store what an event says. What does not belong there is
// reported and left out; what the store refuses is reported, and the store is
// taken to be past it.
func (e *events) apply(ctx context.Context, event watch.Event) {
	if !e.belongs(ctx, event) {
		return
	}
	object, err := meta.Accessor(event.Object)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Unable to understand watch event", "reflector", e.r.name, "event", event.Type)
		return
	}
	version := object.GetResourceVersion()
	switch event.Type {
	case watch.Added:
		err = e.store.Add(event.Object)
	case watch.Modified:
		err = e.store.Update(event.Object)
	case watch.Deleted:
		err = e.store.Delete(event.Object)
	case watch.Bookmark:
		e.complete = e.complete || object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
		if store, ok := e.store.(ReflectorBookmarkStore); ok {
			err = store.Bookmark(version)
		}
	default:
		utilruntime.HandleErrorWithContext(ctx, nil, "Unknown watch event", "reflector", e.r.name, "event", event.Type)
	}
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "The store refused a watch event", "reflector", e.r.name, "event", event.Type, "name", object.GetName(), "namespace", object.GetNamespace())
	}
	switch event.Type {
	case watch.Modified, watch.Deleted, watch.Bookmark:
		e.inOrder = true
	}
	if e.inOrder {
		e.advance(version)
	}
	e.count++
	e.last = e.r.clock.Now()
}

// belongs reports whether an event is of the type that the store is for.
func (e *events) belongs(ctx context.Context, event watch.Event) bool {
	if want, got := e.r.expectedType, reflect.TypeOf(event.Object); want != nil && want != got {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected watch event object type", "reflector", e.r.name, "expectedType", want, "actualType", got)
		return false
	}
	if want := e.r.expectedGVK; want != nil {
		if got := event.Object.GetObjectKind().GroupVersionKind(); got != *want {
			utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected watch event object gvk", "reflector", e.r.name, "expectedGVK", *want, "actualGVK", got)
			return false
		}
	}
	if isTable(event.Object) {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unsupported watch event object gvk", "reflector", e.r.name, "actualGVK", event.Object.GetObjectKind().GroupVersionKind())
		return false
	}
	return true
}

// silenceTicker ticks while the state of all objects is awaited.
func (e *events) silenceTicker() (<-chan time.Time, func()) {
	c, ok := e.r.clock.(clock.WithTicker)
	if !e.initial || !ok {
		return nil, func() {}
	}
	ticker := c.NewTicker(silenceWarning)
	return ticker.C(), ticker.Stop
}

// silentTooLong warns before it gives up.
func (e *events) silentTooLong(ctx context.Context) bool {
	last := e.last
	if last.IsZero() {
		last = e.started
	}
	silent := e.r.clock.Since(last)
	if silent >= silenceWarning {
		e.r.logger(ctx).Info("Warning: the server has not ended the state of all objects with a bookmark yet", "events", e.count, "silentFor", silent)
	}
	return silent >= silenceLimit
}
