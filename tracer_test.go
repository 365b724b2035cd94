package kinform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
)

// tracedBy is a tracer that notes what it is told.
type tracedBy struct {
	begun chan kinform.Delivery
	ended chan any
}

type traceKey struct{}

func (j tracedBy) Start(ctx context.Context, d kinform.Delivery) (context.Context, func(any)) {
	j.begun <- d
	return context.WithValue(ctx, traceKey{}, d.Key), func(panicked any) { j.ended <- panicked }
}

// TestTracer: each call of a handler is between a beginning and an end, and the handler has
// the tracer's context; also through a factory's defaults. Of a panic over a Secret the tracer
// gets no value.
func TestTracer(t *testing.T) {
	s := secretServer(t)
	j := tracedBy{make(chan kinform.Delivery, 10), make(chan any, 10)}
	f, err := kinform.NewFactory(s.Config(), kinform.Options{Tracer: j})
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := kinform.For[*corev1.Secret](f, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Millisecond) // which is how exact it is
	sub := secrets.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Secret]) {
		if ctx.Value(traceKey{}) != ev.Key {
			t.Errorf("the handler's context has %v", ctx.Value(traceKey{}))
		}
		panic("seen")
	}, kinform.SubscribeOptions{OnPanic: func(string, any, []byte) {}})
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.Shutdown()
	if err := sub.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := <-j.begun
	if d.Key != "default/login" || d.Type != kinform.EventAdded || d.Subscriber != "subscriber-1" || !d.Initial || d.ResourceVersion == "" || d.Resource != "secrets" {
		t.Errorf("begun: %+v", d)
	}
	if d.Arrived.Before(before) || time.Since(d.Arrived) < 0 {
		t.Errorf("it arrived at %v, after %v", d.Arrived, before)
	}
	if p := <-j.ended; p == nil || strings.Contains(fmt.Sprint(p), "seen") { // of Secrets nothing is quoted
		t.Errorf("ended by %v", p)
	}
}
