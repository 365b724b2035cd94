package cache_test

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/cache"
)

// runs runs an informer until the result is called, which waits for its end.
func runs(t *testing.T, i cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.RunWithContext(ctx)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

// TestLeavingTakesIndexesAlong: of informers that came to a shared store and left it,
// no index function is called any more.
func TestLeavingTakesIndexesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(newTrace())
		server.noWatchList = true
		server.do(three)
		lw := sharing(t, server)
		var calls atomic.Int64
		counted := func(obj any) ([]string, error) {
			calls.Add(1)
			return byApp(obj)
		}
		stays := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{"app": counted})
		defer runs(t, stays)()
		for range 200 {
			comes := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{"app": counted})
			runs(t, comes)()
		}
		calls.Store(0)
		server.do(put("a", "app", "other"))
		synctest.Wait()
		if got := calls.Load(); got != 1 {
			t.Errorf("one event made %d calls of index functions, of 1 informer that runs", got)
		}
		found, err := stays.GetIndexer().ByIndex("app", "other")
		must(t, err)
		if len(found) != 1 {
			t.Errorf("the informer that stays finds %d objects", len(found))
		}
	})
}

// TestIndexesAfterLeaving: an informer that left a shared store can still be asked by
// index.
func TestIndexesAfterLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(newTrace())
		server.noWatchList = true
		server.do(put("a", "app", "web"), put("b", "app", "web"), put("c", "app", "db"))
		lw := sharing(t, server)
		defer runs(t, cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{}))()
		left := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{"app": byApp})
		runs(t, left)()
		x := left.GetIndexer()
		web, err := x.ByIndex("app", "web")
		must(t, err)
		keys, err := x.IndexKeys("app", "web")
		must(t, err)
		like, err := x.Index("app", web[0])
		must(t, err)
		values := x.ListIndexFuncValues("app")
		slices.Sort(values)
		if len(web) != 2 || len(keys) != 2 || len(like) != 2 || !slices.Equal(values, []string{"db", "web"}) {
			t.Errorf("by value %d, keys %d, like another %d, values %q", len(web), len(keys), len(like), values)
		}
		must(t, x.AddIndexers(cache.Indexers{"late": byApp}))
		if late, err := x.ByIndex("late", "db"); err != nil || len(late) != 1 {
			t.Errorf("an index that was added late finds %d objects: %v", len(late), err)
		}
	})
}

// TestSharedCoresAreForgotten: nothing is left of informers that ran and stopped, nor
// of those that were made and never ran.
func TestSharedCoresAreForgotten(t *testing.T) {
	before := cache.SharedKeys()
	synctest.Test(t, func(t *testing.T) {
		server := newServer(newTrace())
		server.noWatchList = true
		for range 50 {
			runs(t, cache.NewSharedIndexInformer(sharing(t, server), &corev1.Pod{}, 0, cache.Indexers{}))()
		}
	})
	if got := cache.SharedKeys(); got != before {
		t.Errorf("%d entries after the informers stopped, %d before", got, before)
	}
	server := newServer(newTrace())
	for range 5000 {
		cache.NewSharedIndexInformer(sharing(t, server), &corev1.Pod{}, 0, cache.Indexers{})
	}
	for range 200 { // cleanups run some time after a collection
		if cache.SharedKeys() == before {
			return
		}
		runtime.GC()
	}
	t.Errorf("%d entries are left of informers that nobody has any more", cache.SharedKeys()-before)
}
