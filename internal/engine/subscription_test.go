package engine

import (
	"context"
	"fmt"
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

// TestResyncBehindARefusedUpdate: where the queue merges, a resync is merged into an update
// that waits. If the filter refuses that, there is still the resync.
func TestResyncBehindARefusedUpdate(t *testing.T) {
	for name, o := range map[string]SubscribeOptions{"latest": {Merge: Latest}, "every, merged": {Limit: 1}} {
		for _, resyncFirst := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", resync first ", resyncFirst), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { resyncBehindARefusedUpdate(t, o, resyncFirst) })
			})
		}
	}
}

func resyncBehindARefusedUpdate(t *testing.T, o SubscribeOptions, resyncFirst bool) {
	m := newModel()
	m.put("a", "red")
	m.put("z", "red")
	inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
	busy := make(chan struct{})
	var resynced []string
	o.Filter = func(d Delta) bool { return d.Kind != Updated || d.Key() != "ns/a" }
	sub := inf.Subscribe(func(_ context.Context, d Delta) {
		switch d.Kind {
		case Resynced:
			resynced = append(resynced, d.Key()+" "+tell([]Delta{d}))
		case Updated: // of z: the handler lags
			<-busy
		}
	}, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	<-sub.Synced()
	m.put("z", "blue")
	synctest.Wait()
	if resyncFirst {
		sub.Remind()
	}
	m.put("a", "green")
	synctest.Wait()
	if !resyncFirst {
		sub.Remind()
	}
	close(busy)
	synctest.Wait()
	cancel()
	<-ended
	slices.Sort(resynced)
	if want := []string{"ns/a resynced 104→104", "ns/z resynced 103→103"}; !slices.Equal(resynced, want) {
		t.Errorf("resynced %q, want %q; %+v", resynced, want, sub.Status())
	}
}
