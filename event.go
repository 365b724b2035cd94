package kinform

import (
	"context"
	"errors"
	"fmt"
	"time"

	kcore "github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/engine"
)

// EventType says what happened to an object.
type EventType string

// The types of events.
const (
	EventAdded    EventType = "added"
	EventUpdated  EventType = "updated"
	EventDeleted  EventType = "deleted"
	EventResynced EventType = "resynced" // nothing happened; SubscribeOptions.Resync, Subscription.Replay
)

// Event is one change of one object. Type, Key, Labels and ResourceVersion cost
// nothing; New and Old decode the object, once for all subscribers.
type Event[T any] struct {
	Type EventType
	// Key is "namespace/name", or "name" for objects without a namespace.
	Key string

	delta engine.Delta
	inf   *Informer[T]
}

// Initial reports whether the object was in the store when the subscriber joined, or in
// the first list of a scope that has changed since.
func (e Event[T]) Initial() bool { return e.delta.Initial }

// FinalStateUnknown reports, for EventDeleted, that the deletion itself was missed, or
// that the object has left the scope of the informer and may live on: New is the last
// state that was seen.
func (e Event[T]) FinalStateUnknown() bool { return e.delta.FinalStateUnknown }

// Namespace is that of the object, "" if it has none.
func (e Event[T]) Namespace() string { return e.delta.New.Namespace() }

// Name is that of the object.
func (e Event[T]) Name() string { return e.delta.New.Name() }

// UID is that of the object.
func (e Event[T]) UID() string { return e.delta.New.UID() }

// Labels are those of the newest state.
func (e Event[T]) Labels() Labels { return Labels{e.delta.New.Labels()} }

// ResourceVersion is that of the newest state.
func (e Event[T]) ResourceVersion() string { return e.delta.New.Version().String() }

// New returns the newest state; for EventDeleted, the last one. It may be called in any
// goroutine, also after the handler has returned. The object is shared and must not
// be changed.
//
// Possible errors: *DecodeError, if the object does not fit T. It has been logged and
// counted in Status as rejected by then, so a handler that can do nothing about it
// just returns.
func (e Event[T]) New() (T, error) { return e.inf.decode(e.delta.New, engine.Delivered) }

// Old returns the state before; nil for EventAdded. It may be called in any goroutine,
// also after the handler has returned. The object is shared and must not be changed.
//
// Possible errors: *DecodeError, as of New.
func (e Event[T]) Old() (T, error) {
	if e.delta.Old == nil {
		var none T
		return none, nil
	}
	return e.inf.decode(e.delta.Old, engine.Delivered)
}

// Bytes is the newest state as the server sent it, in protobuf or JSON: a copy.
func (e Event[T]) Bytes() []byte { return e.delta.New.AppendBytes(nil) }

// SubscribeOptions of one subscriber. The zero value works.
type SubscribeOptions struct {
	// Name is shown in Status and the log. Default: "subscriber-N".
	Name string
	// Latest always merges waiting events: an object that changed several times
	// before the handler got to it gives one event, from the state last delivered
	// to the newest. Default: every change is delivered while at most Limit wait.
	// Set it for handlers that need the newest state and not each change.
	Latest bool
	// Limit is how many events may wait before they are merged per object. Zero or
	// less is the default, 1024.
	Limit int
	// Resync calls the handler again for every object at this interval, with
	// EventResynced. It makes no request. Zero or less is the default, never.
	Resync time.Duration
	// Filter keeps updates from the handler, by the bytes of both states, before anything
	// is decoded; see Informer.Filter. One of objects of another Go type keeps none.
	// Default: every event is delivered.
	Filter Filter
	// OnPanic is called when the handler panics. Default: the panic is logged.
	// Either way the subscriber continues with the next event.
	OnPanic func(key string, value any, stack []byte)
}

// Subscription is one subscriber of an informer.
type Subscription struct {
	sub  *engine.Subscription
	core *core
}

// Subscribe calls handler for every object in the store and every later change, one
// call at a time, in the server's order, while the informer runs.
func (inf *Informer[T]) Subscribe(handler func(context.Context, Event[T]), o SubscribeOptions) *Subscription {
	eo := engine.SubscribeOptions{Name: o.Name, Limit: o.Limit, Resync: o.Resync, OnPanic: kcore.OnPanic(o.OnPanic), View: inf.view}
	if inf.obeys(o.Filter) {
		eo.Filter = o.Filter.passes
	}
	if o.Latest {
		eo.Merge = engine.Latest
	}
	deliver := func(ctx context.Context, d engine.Delta) {
		handler(ctx, Event[T]{Type: EventType(d.Kind.String()), Key: d.Key(), delta: d, inf: inf})
	}
	if inf.tracer != nil {
		eo.Trace = inf.trace
	}
	return &Subscription{sub: inf.core.Subscribe(inf.core.views.secret.Subscriber(deliver, eo)), core: inf.core}
}

// HasSynced reports whether the handler has returned from every object of the
// initial list.
func (s *Subscription) HasSynced() bool {
	select {
	case <-s.sub.Synced():
		return true
	default:
		return false
	}
}

// Synced is closed when the handler has returned from every object of the initial
// list.
func (s *Subscription) Synced() <-chan struct{} { return s.sub.Synced() }

// WaitSynced waits until the handler has returned from every object of the
// initial list. The error says what it is waiting for.
func (s *Subscription) WaitSynced(ctx context.Context) error {
	over := s.core.Over()
	var why error
	select {
	case <-s.sub.Synced():
		return nil
	case <-over.Done():
		why = context.Cause(over)
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	if s.HasSynced() {
		return nil
	}
	if err := s.core.WaitSynced(ctx); err != nil {
		return err
	}
	st := s.sub.Status()
	return errors.Join(fmt.Errorf("%s: %s has not handled the initial list: %d events wait, %d are done",
		s.core.current(), st.Name, st.Waiting, st.Delivered), why)
}

// Stop ends the subscription and waits until the handler has returned. It may be
// called from the handler itself; it then does not wait.
func (s *Subscription) Stop() { s.sub.Stop() }
