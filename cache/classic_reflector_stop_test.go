package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/consistencydetector"

	"github.com/kinform/kinform/cache"
)

// TestReflectorStops wherever it is, at once.
func TestReflectorStops(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 1)
	for name, prepare := range map[string]func(*scene){
		"watching":               nil,
		"waiting to list again":  func(sc *scene) { sc.server.do(failLists(errors.New("broken"))) },
		"waiting to watch again": func(sc *scene) { sc.server.do(failWatches(busy)) },
		"waiting to fill from a watch": func(sc *scene) {
			sc.server.noWatchList = false
			sc.server.do(failWatches(busy))
			sc.reflectorInto(sc.store, cache.ReflectorOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			playReflector(t, prepare, func(sc *scene) {
				synctest.Wait()
				start := time.Now()
				sc.stop()
				if took := time.Since(start); took > 0 {
					sc.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestReflectorThatIsStoppedAsksNothing(t *testing.T) {
	lw := &cache.ListWatch{
		ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { t.Error("listed"); return nil, errors.New("no") },
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { t.Error("watched"); return nil, errors.New("no") },
	}
	stop := make(chan struct{})
	close(stop)
	r := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	r.Run(stop)
	must(t, r.ListAndWatch(stop))
}

// TestReflectorDoesNotWaitForAList that does not know of contexts.
func TestReflectorDoesNotWaitForAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) { <-release; return nil, errors.New("late") },
		}, newServer(nil).onlyLists())
		r := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.ListAndWatchWithContext(ctx) }()
		synctest.Wait()
		cancel()
		must(t, <-ended)
		close(release)
	})
}

func (s *server) onlyLists() *server {
	s.noWatchList = true
	return s
}

func TestReflectorPassesPanicsOn(t *testing.T) {
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) { panic("in the list") },
	}, newServer(nil).onlyLists())
	r := cache.NewReflector(lw, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	defer func() {
		if got := recover(); got != "in the list" {
			t.Errorf("recovered %v", got)
		}
	}()
	_ = r.ListAndWatchWithContext(t.Context())
}

func TestReflectorSaysWhatFailed(t *testing.T) {
	broken := errors.New("broken")
	lists := func(list runtime.Object, err error) cache.ListFunc {
		return func(metav1.ListOptions) (runtime.Object, error) { return list, err }
	}
	fine := lists(&corev1.PodList{}, nil)
	for name, test := range map[string]struct {
		lw    *cache.ListWatch
		store cache.ReflectorStore
		want  string
	}{
		"the list":           {&cache.ListWatch{ListFunc: lists(nil, broken)}, nil, "failed to list *v1.Pod: broken"},
		"what is no list":    {&cache.ListWatch{ListFunc: lists(&corev1.Pod{}, nil)}, nil, "failed to list *v1.Pod: returned object must be a list: "},
		"a list for reading": {&cache.ListWatch{ListFunc: lists(table(), nil)}, nil, "failed to list *v1.Pod: the server sent a list for people to read: meta.k8s.io/v1, Kind=Table"},
		"the store": {&cache.ListWatch{ListFunc: fine}, &cache.FakeCustomStore{
			ReplaceFunc: func([]any, string) error { return broken },
		}, "unable to sync list result: broken"},
		"the watch": {&cache.ListWatch{ListFunc: fine, WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, broken }}, nil, "broken"},
		"no watch":  {&cache.ListWatch{ListFunc: fine, WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, nil }}, nil, "the source returned neither a watch nor an error"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.store == nil {
				test.store = &cache.FakeCustomStore{}
			}
			r := cache.NewReflector(cache.ToListWatcherWithWatchListSemantics(test.lw, newServer(nil).onlyLists()), &corev1.Pod{}, test.store, 0)
			err := r.ListAndWatchWithContext(t.Context())
			if len(fmt.Sprint(err)) < len(test.want) || fmt.Sprint(err)[:len(test.want)] != test.want {
				t.Errorf("got %q, want %q", err, test.want)
			}
		})
	}
}

// TestReflectorChecksWhatAWatchBrought, if the program asks for that: what a list
// brings must be the same.
func TestReflectorChecksWhatAWatchBrought(t *testing.T) {
	defer consistencydetector.SetDataConsistencyDetectionForWatchListEnabledForTest(true)()
	s := &stream{events: make(chan watch.Event, 2), log: newTrace()}
	s.events <- watch.Event{Type: watch.Added, Object: pod("streamed", 1)}
	s.events <- (&server{version: 9}).bookmarkLocked(metav1.InitialEventsAnnotationKey, "true")
	r := cache.NewNamedReflector("suspicious", s, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	defer func() {
		if got := recover(); got != "data inconsistency detected for suspicious, panicking!" {
			t.Errorf("recovered %v", got)
		}
	}()
	_ = r.ListAndWatchWithContext(t.Context())
}

// TestErrorHandlerIsToldWho: the handlers' type is client-go's, and so is the
// reflector that they are given; it speaks for kinform's.
func TestErrorHandlerIsToldWho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newTrace()).onlyLists()
		s.do(put("a"), put("b"))
		log := newTrace()
		handler := func(_ context.Context, r *clientgo.Reflector, err error) {
			log.note("%s %q page=%d: %v", r.TypeDescription(), r.LastSyncResourceVersion(), r.WatchListPageSize, err)
			cache.DefaultWatchErrorHandler(context.Background(), r, err)
		}
		s.do(failLists(errors.New("broken")))
		c := cache.New(&cache.Config{
			Queue:                        cache.NewDeltaFIFO(nil, newKnown()),
			ListerWatcher:                s,
			ObjectType:                   &corev1.Pod{},
			Process:                      func(any, bool) error { return nil },
			WatchErrorHandlerWithContext: handler,
			WatchListPageSize:            3,
		})
		ctx, cancel := context.WithCancel(t.Context())
		go c.RunWithContext(ctx)
		time.Sleep(time.Minute)
		s.do(put("c"), failWatches(errors.New("cut")))
		time.Sleep(time.Second)
		s.do(disconnect)
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		want := []string{`*v1.Pod "" page=3: failed to list *v1.Pod: broken`, `*v1.Pod "3" page=3: cut`}
		if got := log.take(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func table() runtime.Object {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("meta.k8s.io/v1")
	list.SetKind("Table")
	return list
}
