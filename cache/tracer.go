package cache

import (
	"context"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// SetTracer has an informer begin a span for each call of a handler, as kinform's
// Options.Tracer does; package tracing makes one of OpenTelemetry's. It must be called
// before the informer runs. The handlers of this package get no context, so that what they
// do is not part of the span. A nil tracer, the default, traces nothing.
//
// Possible errors: that the informer has started; that it is not kinform's.
func SetTracer(informer SharedInformer, t kinform.Tracer) error {
	return setUp(informer, func(s *sharedIndexInformer) { s.tracer = t })
}

// calling returns the handler, which is about to be called, and begins the span of that
// call if there is a tracer.
func (r *registration) calling(ctx context.Context, d engine.Delta) ResourceEventHandler {
	s := r.informer
	if s.tracer == nil {
		return r.handler
	}
	resource := s.description
	if lw, ok := s.lw.(*dropin.ListWatch); ok {
		resource = lw.Query.String()
	}
	_, r.endSpan = s.tracer.Start(ctx, kinform.Delivery{
		Resource: resource, Subscriber: r.name,
		Type: kinform.EventType(d.Kind.String()), Key: d.Key(), ResourceVersion: d.New.Version().String(),
		Initial: d.Initial, Arrived: d.ArrivedAt(),
	})
	return r.handler
}

// trace is called for each delta. Not each of them leads to a call of the handler.
func (r *registration) trace(ctx context.Context, _ string, _ engine.Delta) (context.Context, func(panicked any)) {
	return ctx, func(panicked any) {
		if end := r.endSpan; end != nil {
			r.endSpan = nil
			end(panicked)
		}
	}
}
