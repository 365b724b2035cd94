package kinform

import (
	"context"
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// Tracer begins a span for each call of a handler, so that what the handler does is seen
// together with the event that caused it. Package tracing makes one of OpenTelemetry's.
type Tracer interface {
	// Start is called before a handler is, in the same goroutine. The handler gets the
	// context that it returns. end is called when the handler has returned, with nil, or
	// has panicked, with the value. Start and end must not block, nor panic.
	Start(ctx context.Context, d Delivery) (handler context.Context, end func(panicked any))
}

// Delivery is the way of one event to one handler.
type Delivery struct {
	// Resource is what the informer lists and watches.
	Resource string
	// Subscriber is the name of the subscriber.
	Subscriber string
	// Type, Key and ResourceVersion are those of the event.
	Type            EventType
	Key             string
	ResourceVersion string
	// Initial: the object was there when the subscriber joined.
	Initial bool
	// Arrived is when the event came into the store, to the millisecond. If it was merged
	// of several, it is when the first of them did.
	Arrived time.Time
}

// trace is called before the handler of a subscriber is.
func (inf *Informer[T]) trace(ctx context.Context, subscriber string, d engine.Delta) (context.Context, func(panicked any)) {
	return inf.tracer.Start(ctx, Delivery{
		Resource: inf.core.query.String(), Subscriber: subscriber,
		Type: EventType(d.Kind.String()), Key: d.Key(), ResourceVersion: d.New.Version().String(),
		Initial: d.Initial, Arrived: d.ArrivedAt(),
	})
}
