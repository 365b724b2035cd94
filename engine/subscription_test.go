package engine

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
)

// TestHandlerThatEndsItsGoroutine: what t.FailNow does in a handler costs that
// call and nothing else.
func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		for _, name := range []string{"a", "b", "c"} {
			m.put(name, "red")
		}
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
		var got []string
		sub := inf.Subscribe(func(_ context.Context, d Delta) {
			got = append(got, d.Key())
			if len(got) == 2 {
				runtime.Goexit()
			}
		}, SubscribeOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		<-sub.Synced()
		m.put("d", "red")
		synctest.Wait()
		cancel()
		<-ended
		slices.Sort(got)
		if want := []string{"ns/a", "ns/b", "ns/c", "ns/d"}; !slices.Equal(got, want) {
			t.Errorf("heard of %v, want %v", got, want)
		}
		if s := sub.Status(); s.Panics != 1 {
			t.Errorf("counts %d panics, want 1", s.Panics)
		}
	})
}
