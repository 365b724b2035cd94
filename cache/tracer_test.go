package cache_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgotesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
)

// spans is a tracer that notes what it is told, and what happens in between.
type spans struct {
	mu    sync.Mutex
	notes []string
}

func (s *spans) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

func (s *spans) Start(ctx context.Context, d kinform.Delivery) (context.Context, func(any)) {
	s.note("begin %s %s@%s of %s, initial %t", d.Type, d.Key, d.ResourceVersion, d.Resource, d.Initial)
	if d.Subscriber == "" || d.Arrived.IsZero() {
		s.note("missing: %+v", d)
	}
	return ctx, func(panicked any) { s.note("end %v", panicked) }
}

// TestSetTracer: each call of a handler is in a span, with its panic, and there is none
// without a call.
func TestSetTracer(t *testing.T) {
	panics := survivePanics(t)
	synctest.Test(t, func(t *testing.T) {
		source := clientgotesting.NewFakeControllerSource()
		at := func(name, app string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}}}
		}
		source.Add(at("there", "web"))
		informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
		s := &spans{}
		must(t, cache.SetTracer(informer, s))
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { s.note("add %s", obj.(*corev1.Pod).Name) },
			UpdateFunc: func(_, obj any) { s.note("update"); panic("seen") },
			DeleteFunc: func(obj any) { s.note("delete") },
		})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { informer.RunWithContext(ctx) })
		<-time.After(time.Second)
		for _, change := range []func(){
			func() { source.Add(at("new", "web")) },
			func() { source.Modify(at("new", "db")) },
			func() { source.Delete(at("new", "db")) },
		} {
			change()
			<-time.After(time.Second)
		}
		if err := cache.SetTracer(informer, nil); err == nil {
			t.Error("a tracer is set while the informer runs")
		}
		cancel()
		running.Wait()
		source.Shutdown()
		want := []string{
			"begin added default/there@1 of *v1.Pod, initial true", "add there", "end <nil>",
			"begin added default/new@2 of *v1.Pod, initial false", "add new", "end <nil>",
			"begin updated default/new@3 of *v1.Pod, initial false", "update", "end seen",
			"begin deleted default/new@4 of *v1.Pod, initial false", "delete", "end <nil>",
		}
		if !slices.Equal(s.notes, want) {
			t.Errorf("got\n%q\nwant\n%q", s.notes, want)
		}
		if len(*panics) != 1 {
			t.Errorf("%d panics reached the program, want 1", len(*panics))
		}
	})
}
