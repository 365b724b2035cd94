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
	for name, observer := range map[string]Observer{"none": nil, "one": func(Observation) {}} {
		b.Run(name, func(b *testing.B) {
			c, _ := NewCollection(Options{Observer: observer}, "")
			in := ingester{collection: c}
			s := c.Subscribe(func(context.Context, Delta) {}, SubscribeOptions{Limit: 1})
			version := 0
			b.ReportAllocs()
			for b.Loop() {
				version++
				raw := fmt.Appendf(nil, `{"metadata":{"name":"a","uid":"u","resourceVersion":"%d"}}`, version)
				r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, true)
				if err != nil {
					b.Fatal(err)
				}
				c.Apply([]Change{{Record: r}})
				for _, d := range s.queue.take() {
					s.deliver(b.Context(), d)
				}
			}
		})
	}
}
