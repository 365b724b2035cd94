package engine

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unsafe"
)

// TestWayOfOneEvent holds the way of one event to its length: two goroutines, one
// hand-off, the key built once. It names the functions that are under way in the engine
// at three points: when the source is pulled, when the index functions run, and when
// the handler is called. What has returned by then (scanning, storing, queueing) does
// not show.
func TestWayOfOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.put("a", "red")
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": &tracedSource{model: m}})
		var stored, delivered trace
		if err := inf.AddIndex(Indexer{Name: "trace", Values: func(*Record) ([]string, error) {
			stored = traceHere()
			return nil, nil
		}}); err != nil {
			t.Fatal(err)
		}
		var keys []string
		inf.Subscribe(func(_ context.Context, d Delta) {
			delivered = traceHere()
			keys = append(keys, d.Key())
		}, SubscribeOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		pulled := &lastPull
		m.put("a", "blue")
		synctest.Wait()
		cancel()
		<-ended

		if pulled.goroutine != stored.goroutine {
			t.Error("an event changes goroutines between the source and the store")
		}
		if stored.goroutine == delivered.goroutine {
			t.Error("the handler is called by the goroutine that reads the network")
		}
		wantWay(t, "source", pulled, "Reflector.Run", "Reflector.watch", "Reflector.follow", "Reflector.pull")
		wantWay(t, "store", &stored, "Reflector.Run", "Reflector.watch", "Reflector.follow", "Reflector.apply", "Collection.Apply",
			"Collection.indexed", "Collection.appendValues", "indexContained")
		wantWay(t, "handler", &delivered, "Subscription.goOn", "Subscription.run", "Subscription.deliver")

		if len(keys) != 2 || unsafe.StringData(keys[0]) != unsafe.StringData(keys[1]) {
			t.Errorf("the key of one object was built anew for its next state: %q", keys)
		}
		if held := inf.Get("ns/a"); unsafe.StringData(held.Key()) != unsafe.StringData(keys[0]) {
			t.Error("the store and the handler have different copies of the key")
		}
	})
}

// trace is where an event was.
type trace struct {
	goroutine uint64
	way       []string
}

// traceHere returns the engine's functions on the stack, outermost first.
func traceHere() trace {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	tr := trace{goroutine: goroutineID()}
	for {
		f, more := frames.Next()
		if name, ok := strings.CutPrefix(f.Function, "github.com/kinform/kinform/internal/engine."); ok && !strings.HasSuffix(f.File, "_test.go") {
			tr.way = append(tr.way, strings.NewReplacer("(*", "", ")", "").Replace(name))
		}
		if !more {
			break
		}
	}
	slices.Reverse(tr.way)
	// What starts a goroutine is not on the way.
	tr.way = slices.DeleteFunc(tr.way, func(s string) bool { return strings.Contains(s, ".func") })
	return tr
}

func wantWay(t *testing.T, where string, got *trace, want ...string) {
	t.Helper()
	if !slices.Equal(got.way, want) {
		t.Errorf("the way to the %s is %v, it was %v", where, got.way, want)
	}
}

// tracedSource notes from where its watch is pulled.
type tracedSource struct{ *model }

var lastPull trace

func (s *tracedSource) Watch(ctx context.Context, o WatchOptions) (WatchStream, error) {
	w, err := s.model.Watch(ctx, o)
	return &tracedWatch{w}, err
}

type tracedWatch struct{ WatchStream }

func (w *tracedWatch) Next() (Event, error) {
	lastPull = traceHere()
	return w.WatchStream.Next()
}
