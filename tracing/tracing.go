// Package tracing makes spans of OpenTelemetry's of the way of events to handlers. It is
// one option:
//
//	kinform.Options{Tracer: tracing.New(otel.GetTracerProvider())}
//
// Informers of the drop-ins get it by cache.SetTracer; their handlers get no context.
//
// For each call of a handler there is a span, which begins when the event came into the store
// and ends when the handler has returned. In it is one of the handler's call alone; the
// handler gets its context, so that what the handler does with that context is part of it. What lies
// between the two beginnings is how long the event waited.
//
// Without the option, nothing is done for it. What is sampled is a matter of the provider;
// the objects of an initial list are left out unless InitialToo is set.
//
// Spans say which object an event was about, and nothing of what is in it. Of a panic of a
// handler they have the type of its value: the value may quote an object, a Secret's
// included, and traces are kept, and read by others than logs are. PanicText adds it.
package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kinform/kinform"
)

// Tracer is a kinform.Tracer.
type Tracer struct {
	// InitialToo traces the events of initial lists, too. By default they are not
	// traced: there are many of them, and nothing has happened. Set it to see what a
	// start does.
	InitialToo bool
	// PanicText adds the text of a handler's panic value to the handler's span. By
	// default only its type is added, such as "runtime.boundsError" or "string". Set it
	// if no handler sees a secret, or if everyone who reads traces may see secrets.
	PanicText bool

	tracer trace.Tracer
}

var _ kinform.Tracer = (*Tracer)(nil)

// New returns a tracer whose spans go to a provider.
func New(to trace.TracerProvider) *Tracer {
	return &Tracer{tracer: to.Tracer("github.com/kinform/kinform/tracing")}
}

// Start begins the spans of one call of a handler.
func (t *Tracer) Start(ctx context.Context, d kinform.Delivery) (context.Context, func(panicked any)) {
	if d.Initial && !t.InitialToo {
		return ctx, func(any) {}
	}
	way, whole := t.tracer.Start(ctx, "kinform.event", trace.WithTimestamp(d.Arrived), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("kinform.resource", d.Resource),
			attribute.String("kinform.event.type", string(d.Type)),
			attribute.String("kinform.key", d.Key),
			attribute.String("kinform.resource_version", d.ResourceVersion),
			attribute.String("kinform.subscriber", d.Subscriber),
		))
	handler, call := t.tracer.Start(way, "kinform.handler")
	return handler, func(panicked any) {
		if panicked != nil {
			call.SetStatus(codes.Error, t.describe(panicked))
			whole.SetStatus(codes.Error, "the handler has panicked")
		}
		call.End()
		whole.End()
	}
}

// describe says what a handler panicked with.
func (t *Tracer) describe(panicked any) string {
	text := fmt.Sprintf("the handler has panicked with a value of type %T", panicked)
	if t.PanicText {
		text += fmt.Sprint(": ", panicked)
	}
	return text
}
