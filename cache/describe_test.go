package cache_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

func stripped(obj any) (any, error) { return obj, nil }

func noted(context.Context, *clientgo.Reflector, error) {}

// TestDescribeSharedInformer: everything that a program can set is shown, and how
// it goes.
func TestDescribeSharedInformer(t *testing.T) {
	for _, s := range []side{ours, oursBytes} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(newTrace())
			server.do(three)
			informer := s.make(server, &corev1.Pod{}, cache.SharedIndexInformerOptions{
				ResyncPeriod: time.Minute, Indexers: cache.Indexers{"names": byNames, "app": byApp}, ObjectDescription: "my pods",
			})
			if err := informer.SetTransform(stripped); err != nil {
				t.Fatal(err)
			}
			if err := informer.SetWatchErrorHandlerWithContext(noted); err != nil {
				t.Fatal(err)
			}
			for _, resync := range []time.Duration{0, 30 * time.Second} {
				h := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}
				if _, err := informer.AddEventHandlerWithResyncPeriod(h, resync); err != nil {
					t.Fatal(err)
				}
			}
			d := cache.Describe(informer)
			wantLines(t, d, "started no", "synced no", "handlers 2", "resync every 1m0s, looked at every 30s")

			p := &player{t: t, informer: informer}
			run(p)
			synctest.Wait()
			d = cache.Describe(informer)
			wantLines(t, d,
				"my pods", "informer shared informer", "object type *v1.Pod", "list LIST, streamed", "page size none",
				"backoff 800ms, doubled up to 30s", "error handler github.com/kinform/kinform/cache_test.noted",
				"queue one for each handler", "resync every 1m0s, looked at every 30s",
				"indexes app, names", "transform github.com/kinform/kinform/cache_test.stripped", "mutation detector off",
				"handlers 2", "type cache.ResourceEventHandlerFuncs", "resync never", "resync every 30s",
				"gets every change, merged per object if more than 1024 wait", "queue 0 wait, 3 delivered, 0 merged",
				"started yes", "synced yes", "state watching, since 0s ago", "resource version 3", "requests 1 lists, 1 watches")
			if s.name == ours.name {
				wantLines(t, d, "source objects of *cache_test.server", "held as objects", "store 3 objects")
			}
			if got := cache.Describe(informer.GetController()); got.ObjectType != d.ObjectType || len(got.Handlers) != 2 {
				t.Errorf("its controller is described as\n%s", got)
			}
			if raw, err := json.Marshal(d); err != nil || !strings.Contains(string(raw), `"resync":{"default":"1m0s","check":"30s"}`) {
				t.Errorf("as JSON: %v\n%s", err, raw)
			}
			stop(p)
			<-p.ended
			wantLines(t, cache.Describe(informer), "started yes, and stopped", "state stopped, since 0s ago")
		})
	}
}

// wantLines looks for lines of the text, whatever the spaces.
func wantLines(t *testing.T, d cache.Description, want ...string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(d.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("no line %q in\n%s", line, d)
		}
	}
}

// TestDescribeInsideAHandler: whoever asks may be a handler.
func TestDescribeInsideAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(newTrace())
		server.do(three)
		var informer cache.SharedIndexInformer
		var controller cache.Controller
		seen := 0
		h := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			seen++
			cache.Describe(informer)
			cache.Describe(controller)
		}}
		informer = cache.NewSharedIndexInformer(server, &corev1.Pod{}, 0, cache.Indexers{})
		if _, err := informer.AddEventHandler(h); err != nil {
			t.Fatal(err)
		}
		queue := cache.NewDeltaFIFO(cache.MetaNamespaceKeyFunc, nil)
		controller = cache.New(&cache.Config{
			Queue: queue, ListerWatcher: server, ObjectType: &corev1.Pod{}, FullResyncPeriod: time.Hour,
			Process: func(any, bool) error { h.OnAdd(nil, true); return nil }, WatchListPageSize: 7,
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { informer.RunWithContext(ctx) })
		synctest.Wait()
		running.Go(func() { controller.RunWithContext(ctx) })
		synctest.Wait()
		if seen != 6 {
			t.Errorf("%d calls, want 6", seen)
		}
		wantLines(t, cache.Describe(controller), "queue *cache.DeltaFIFO", "source objects of *cache_test.server", "page size 7",
			"resync every 1h0m0s", "object type *v1.Pod", "error handler default", "type ProcessFunc", "synced yes", "started yes")
		cancel()
		running.Wait()
	})
}

func TestDescribeInformerOfOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(newTrace())
		server.do(three)
		_, controller := cache.NewTransformingIndexerInformer(server, &corev1.Pod{}, time.Minute,
			cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}, cache.Indexers{"app": byApp}, stripped)
		wantLines(t, cache.Describe(controller), "started no", "store 0 objects")
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { controller.RunWithContext(ctx) })
		synctest.Wait()
		wantLines(t, cache.Describe(controller), "queue *cache.RealFIFO", "store 3 objects", "indexes app", "resync every 1m0s",
			"transform github.com/kinform/kinform/cache_test.stripped", "type cache.ResourceEventHandlerFuncs", "resource version 3")
		cancel()
		running.Wait()
	})
}

// TestDescribeForeign: client-go's own informers can be asked, too.
func TestDescribeForeign(t *testing.T) {
	informer := clientgo.NewSharedIndexInformer(newServer(newTrace()), &corev1.Pod{}, 0, clientgo.Indexers{"app": byApp})
	if err := informer.GetIndexer().Add(pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	wantLines(t, cache.Describe(informer), "informer *cache.sharedIndexInformer, which is not kinform's", "store 1 objects", "indexes app", "synced no")
}
