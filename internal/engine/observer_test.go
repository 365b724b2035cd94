package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/wire"
)

// TestObserver has one of each thing happen, and wants each to be observed once.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.put("a", "red")
		var mu sync.Mutex
		seen := map[string]int{}
		observer := func(o Observation) {
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprintf("%d %s%s%s %s %d", o.Point, o.Source, o.Subscriber, o.View, o.Key, o.Count)]++
		}
		inf := NewInformer(Options{Observer: observer}, ReflectorOptions{}, map[string]Source{"": m})
		view := &View{Name: "view", Decode: func(r *Record, _ Neighbour) (any, error) { return r.Key(), nil }}
		inf.Subscribe(func(_ context.Context, d Delta) {
			if _, err := inf.Decode(d.New, view, Delivered); err != nil {
				t.Error(err)
			}
			if d.Kind == Updated {
				panic("observed")
			}
		}, SubscribeOptions{Name: "sub"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		m.put("a", "blue")
		synctest.Wait()
		cancel()
		<-ended
		source := m.String()
		for _, want := range []string{
			fmt.Sprintf("%d %s  0", PointList, source),
			fmt.Sprintf("%d %s  1", PointListed, source),
			fmt.Sprintf("%d %s  0", PointWatch, source),
			fmt.Sprintf("%d %s  1", PointApplied, source),
			fmt.Sprintf("%d %s  1", PointWatched, source),
			fmt.Sprintf("%d view ns/a 0", PointDecoded),
			fmt.Sprintf("%d sub ns/a 0", PointDelivered),
			fmt.Sprintf("%d sub ns/a 0", PointPanicked),
		} {
			if seen[want] == 0 {
				t.Errorf("not observed: %q", want)
			}
			delete(seen, want)
		}
		if len(seen) > 0 {
			t.Errorf("observed as well: %v", seen)
		}
	})
}

// BenchmarkObserver shows what an observer costs on the way of an event: nothing when
// there is none.
func BenchmarkObserver(b *testing.B) {
	for _, how := range []string{"none", "measured", "observed"} {
		b.Run(how, func(b *testing.B) {
			event := oneEvent(b, how)
			b.ReportAllocs()
			for b.Loop() {
				event()
			}
		})
	}
}

// TestMeasuringAllocatesNothing: whoever looks on, an event costs the memory that it costs
// without.
func TestMeasuringAllocatesNothing(t *testing.T) {
	none := testing.AllocsPerRun(2000, oneEvent(t, "none"))
	for _, how := range []string{"measured", "observed"} {
		if n := testing.AllocsPerRun(2000, oneEvent(t, how)); n != none {
			t.Errorf("%s: %v allocations for an event, %v without", how, n, none)
		}
	}
}

// oneEvent returns a function that takes an event to its handler.
func oneEvent(t testing.TB, how string) func() {
	c, _ := NewCollection(Options{}, "")
	switch how {
	case "measured":
		c.Measure()
	case "observed":
		c.Observe(func(Observation) {})
	}
	in := ingester{collection: c}
	s := c.Subscribe(func(context.Context, Delta) {}, SubscribeOptions{Limit: 1})
	version := 1 << 20 // of as many digits in all that follow
	return func() {
		version++
		raw := fmt.Appendf(nil, `{"metadata":{"name":"a","uid":"u","resourceVersion":"%d"}}`, version)
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, true)
		if err != nil {
			t.Fatal(err)
		}
		c.Apply([]Change{{Record: r}})
		for _, d := range s.queue.take() {
			s.deliver(t.Context(), d)
		}
	}
}
