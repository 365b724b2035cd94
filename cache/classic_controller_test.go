package cache_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/cache"
)

// running runs a controller in fake time, and stops it after the story.
func running(t *testing.T, c cache.Controller, story func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.RunWithContext(ctx)
	}()
	synctest.Wait()
	story()
	cancel()
	<-ended
}

// noting is a handler that notes its calls.
func noting(log *trace) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { log.note("added %s initial=%t", show(obj), initial) },
		UpdateFunc: func(old, new any) { log.note("updated %s to %s", show(old), show(new)) },
		DeleteFunc: func(obj any) { log.note("deleted %s", show(obj)) },
	}
}

func TestInformers(t *testing.T) {
	indexers := func() cache.Indexers {
		return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	}
	pod := &corev1.Pod{}
	for name, test := range map[string]struct {
		make        func(cache.ListerWatcher, cache.ResourceEventHandler) (cache.Store, cache.Controller)
		transformed bool
		indexed     bool
	}{
		"NewInformer": {make: func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewInformer(lw, pod, time.Minute, h)
		}},
		"NewIndexerInformer": {make: func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewIndexerInformer(lw, pod, time.Minute, h, indexers())
		}, indexed: true},
		"NewTransformingInformer": {make: func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewTransformingInformer(lw, pod, time.Minute, h, transform)
		}, transformed: true},
		"NewTransformingIndexerInformer": {make: func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewTransformingIndexerInformer(lw, pod, time.Minute, h, indexers(), transform)
		}, transformed: true, indexed: true},
		"NewInformerWithOptions": {make: func(lw cache.ListerWatcher, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
			return cache.NewInformerWithOptions(cache.InformerOptions{
				ListerWatcher: lw, ObjectType: pod, Handler: h, ResyncPeriod: time.Minute, Indexers: indexers(), Transform: transform,
			})
		}, transformed: true, indexed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mark := ""
				if test.transformed {
					mark = " transformed 1"
				}
				s := newServer(newTrace()).onlyLists()
				s.do(put("a"))
				log := newTrace()
				store, c := test.make(s, noting(log))
				if c.HasSynced() || c.LastSyncResourceVersion() != "" {
					t.Error("synced before it ran")
				}
				saw := func(want ...string) {
					t.Helper()
					synctest.Wait()
					if diff := cmp.Diff(want, log.take()); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
				running(t, c, func() {
					saw("added a@1" + mark + " initial=true")
					if !cache.WaitFor(t.Context(), "", c.HasSyncedChecker()) || !c.HasSynced() || c.LastSyncResourceVersion() != "1" {
						t.Errorf("synced=%t at %s", c.HasSynced(), c.LastSyncResourceVersion())
					}
					s.do(put("b"), put("a"), remove("b"))
					saw("added b@2"+mark+" initial=false", "updated a@1"+mark+" to a@3"+mark, "deleted b@4"+mark)
					time.Sleep(time.Minute)
					saw("updated a@3" + mark + " to a@3" + mark)
					s.do(disconnect, remove("a"), put("c"), forget)
					time.Sleep(20 * time.Second)
					saw("deleted tombstone(ns/a a@3"+mark+")", "added c@6"+mark+" initial=false")
				})
				wantObjects(t, store.List(), "c@6"+mark)
				if indexer, ok := store.(cache.Indexer); test.indexed {
					got, err := indexer.ByIndex(cache.NamespaceIndex, "ns")
					must(t, err)
					wantObjects(t, got, "c@6"+mark)
				} else if !ok {
					t.Error("the store is no indexer")
				}
			})
		})
	}
}

// failingOnce fails the first time that it processes each object.
func failingOnce(log *trace) cache.ProcessFunc {
	seen := map[string]bool{}
	return func(obj any, initial bool) error {
		log.note("%s initial=%t", show(obj), initial)
		if what := show(obj); !seen[what] {
			seen[what] = true
			return errors.New("not now")
		}
		return nil
	}
}

func TestControllerRetries(t *testing.T) {
	deltas := func() cache.Queue { return cache.NewDeltaFIFO(nil, newKnown()) }
	changes := func() cache.Queue { return cache.NewRealFIFO(nil, newKnown(), nil) }
	for _, test := range []struct {
		name  string
		retry bool
		queue func() cache.Queue
		want  []string
	}{
		{"if it is told to", true, deltas,
			[]string{"[Sync a@1] initial=true", "[Sync b@2] initial=true", "[Sync a@1] initial=false", "[Sync b@2] initial=false"}},
		{"not, if it is not", false, deltas,
			[]string{"[Sync a@1] initial=true", "[Sync b@2] initial=true"}},
		{"not, if the queue takes nothing back", true, changes,
			[]string{"[Replaced a@1] initial=true", "[Replaced b@2] initial=true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(newTrace()).onlyLists()
				s.do(put("a"), put("b"))
				log := newTrace()
				c := cache.New(&cache.Config{
					Queue: test.queue(), ListerWatcher: s, ObjectType: &corev1.Pod{},
					Process: failingOnce(log), RetryOnError: test.retry,
				})
				running(t, c, synctest.Wait)
				got := log.take()
				slices.Sort(got)
				slices.Sort(test.want)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestControllerPassesPanicsOn: a panic of a handler ends the program, and does not
// wait for the reflector to end, which it never would.
func TestControllerPassesPanicsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newTrace()).onlyLists()
		s.do(put("a"))
		handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("in the handler") }}
		_, c := cache.NewInformer(s, &corev1.Pod{}, 0, handler)
		ctx, cancel := context.WithCancel(t.Context())
		recovered := make(chan any)
		go func() {
			defer func() { recovered <- recover() }()
			c.RunWithContext(ctx)
		}()
		if got := <-recovered; got != "in the handler" {
			t.Errorf("recovered %v", got)
		}
		cancel()
	})
}

// TestControllerClosesItsQueue, and has when Run returns.
func TestControllerClosesItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := cache.NewDeltaFIFO(nil, newKnown())
		c := cache.New(&cache.Config{Queue: q, ListerWatcher: newServer(newTrace()), Process: func(any, bool) error { return nil }})
		stop := make(chan struct{})
		close(stop)
		c.Run(stop)
		if !q.IsClosed() {
			t.Error("the queue is open")
		}
	})
}
