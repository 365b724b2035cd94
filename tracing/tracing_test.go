package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/tracing"
)

// TestSpans follows an event from the watch to the handler, and what the handler does.
func TestSpans(t *testing.T) {
	s, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().ConfigMaps("default")
	create := func(name string) {
		if _, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("there")
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	inf, err := kinform.New[*corev1.ConfigMap](s.Config(), kinform.Options{Tracer: tracing.New(provider)})
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan trace.SpanContext, 10)
	sub := inf.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.ConfigMap]) {
		called <- trace.SpanContextFromContext(ctx)
		if ev.Name() == "bad" {
			panic("bad")
		}
	}, kinform.SubscribeOptions{Name: "mine", OnPanic: func(string, any, []byte) {}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	if err := sub.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	if sc := <-called; sc.IsValid() {
		t.Error("an event of the initial list has a span")
	}
	create("new")
	inHandler := <-called
	create("bad")
	<-called
	sub.Stop()
	cancel()
	<-ended
	spans := recorder.Ended()
	if len(spans) != 4 {
		t.Fatalf("%d spans, want 4", len(spans))
	}
	call, way := spans[0], spans[1]
	if call.SpanContext().SpanID() != inHandler.SpanID() {
		t.Error("the handler did not get the context of its span")
	}
	if call.Parent().SpanID() != way.SpanContext().SpanID() || call.Name() != "kinform.handler" || way.Name() != "kinform.event" {
		t.Errorf("%s is not in %s", call.Name(), way.Name())
	}
	if call.StartTime().Before(way.StartTime()) || way.EndTime().Before(call.EndTime()) {
		t.Errorf("the way lasts from %v to %v, the call from %v to %v", way.StartTime(), way.EndTime(), call.StartTime(), call.EndTime())
	}
	attributes := map[string]string{}
	for _, a := range way.Attributes() {
		attributes[string(a.Key)] = a.Value.AsString()
	}
	for key, want := range map[string]string{
		"kinform.key": "default/new", "kinform.event.type": "added", "kinform.subscriber": "mine", "kinform.resource": "configmaps",
	} {
		if attributes[key] != want {
			t.Errorf("%s is %q, want %q", key, attributes[key], want)
		}
	}
	if attributes["kinform.resource_version"] == "" {
		t.Error("no version")
	}
	if spans[2].Status().Code != codes.Error || spans[3].Status().Code != codes.Error {
		t.Error("a panic does not show")
	}
}

// secretError is an error that quotes its subject, as errors do.
type secretError struct{ value string }

func (e secretError) Error() string { return "cannot use " + e.value }

// TestPanicsTellNoSecrets: spans have only the type of a panic's value, unless the text
// was asked for.
func TestPanicsTellNoSecrets(t *testing.T) {
	const secret = "hunter2"
	for kind, panicked := range map[string]any{
		"string": "the password is " + secret, "tracing_test.secretError": secretError{secret}, "*errors.errorString": errors.New(secret),
		"*fmt.wrapError": fmt.Errorf("bad: %w", secretError{secret}), "[]uint8": []byte(secret), "*v1.Secret": &corev1.Secret{StringData: map[string]string{"password": secret}},
	} {
		for _, asked := range []bool{false, true} {
			recorder := tracetest.NewSpanRecorder()
			tracer := tracing.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)))
			tracer.PanicText = asked
			_, end := tracer.Start(t.Context(), kinform.Delivery{Key: "default/login"})
			end(panicked)
			spans := recorder.Ended()
			if len(spans) != 2 {
				t.Fatalf("%d spans, want 2", len(spans))
			}
			text := fmt.Sprint(spans[0].Status(), spans[0].Events(), spans[0].Attributes(), spans[1].Status(), spans[1].Events(), spans[1].Attributes())
			if spans[0].Status().Code != codes.Error || !strings.Contains(spans[0].Status().Description, kind) {
				t.Errorf("%s: the status is %v", kind, spans[0].Status())
			}
			// Bytes are written as numbers.
			if shown := strings.Contains(text, fmt.Sprint(panicked)); shown != asked || !asked && strings.Contains(text, secret) {
				t.Errorf("%s, asked for the text %t: %s", kind, asked, text)
			}
		}
	}
}
