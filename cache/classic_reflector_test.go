package cache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
)

// scene is a running reflector.
type scene struct {
	*testing.T
	server *server
	log    *trace
	store  *recorder
	r      *cache.StoreReflector
	stop   func() // and wait
}

// playReflector runs a reflector while a story is told, in fake time. The server has the
// pods a and b, and lists them, unless prepare says otherwise.
func playReflector(t *testing.T, prepare func(*scene), story func(*scene)) {
	synctest.Test(t, func(t *testing.T) {
		log := newTrace()
		sc := &scene{T: t, server: newServer(log), log: log, store: &recorder{log: log}}
		sc.server.noWatchList = true
		sc.server.do(put("a"), put("b"))
		sc.r = cache.NewReflectorWithOptions(sc.server, &corev1.Pod{}, sc.store, cache.ReflectorOptions{Backoff: steadyBackoff})
		if prepare != nil {
			prepare(sc)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			sc.r.RunWithContext(ctx)
		}()
		sc.stop = func() { cancel(); <-ended }
		story(sc)
		sc.stop()
		if n := sc.server.openWatches(); n > 0 {
			t.Errorf("%d watches were left open", n)
		}
	})
}

// reflectorInto makes the scene's reflector again, with other options.
func (sc *scene) reflectorInto(store cache.ReflectorStore, o cache.ReflectorOptions) {
	o.Backoff = steadyBackoff
	sc.r = cache.NewReflectorWithOptions(sc.server, &corev1.Pod{}, store, o)
}

// saw compares what has happened since it was last called.
func (sc *scene) saw(want ...string) {
	sc.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, sc.log.take()); diff != "" {
		sc.Errorf("(-want +got):\n%s", diff)
	}
}

const (
	firstList = `list version="0" limit=500 continue="" match=""`
	watchAt   = `watch version=%q initial=false match="" bookmarks=true`
)

func listAt(version int) string {
	return fmt.Sprintf(`list version="%d" limit=0 continue="" match=""`, version)
}

func resumeAt(version int) string { return fmt.Sprintf(watchAt, fmt.Sprint(version)) }

func TestReflectorListsThenWatches(t *testing.T) {
	playReflector(t, nil, func(sc *scene) {
		sc.saw(firstList, "Replace [a@1 b@2] at 2", resumeAt(2))
		sc.server.do(put("c"), put("a"), remove("b"))
		sc.saw("Add c@3", "UpdateResourceVersion 3", "Update a@4", "UpdateResourceVersion 4", "Delete b@5", "UpdateResourceVersion 5")
		sc.server.do(bookmark)
		sc.saw("Bookmark 6", "UpdateResourceVersion 6")

		time.Sleep(time.Minute)
		sc.server.do(disconnect, put("d"))
		sc.saw(resumeAt(6), "Add d@7", "UpdateResourceVersion 7")

		sc.server.do(disconnect, put("e"), forget)
		sc.saw(resumeAt(7))
		time.Sleep(time.Second)
		sc.saw(listAt(7), "Replace [a@4 c@3 d@7 e@8] at 9", resumeAt(9))
		if got := sc.r.LastSyncResourceVersion(); got != "9" {
			sc.Errorf("version %s", got)
		}
	})
}

func TestReflectorPages(t *testing.T) {
	paged := func(version string, from int) string {
		continued := ""
		if from > 0 {
			continued = fmt.Sprint(from)
			version = ""
		}
		return fmt.Sprintf("list version=%q limit=2 continue=%q match=\"\"", version, continued)
	}
	t.Run("as it is told", func(t *testing.T) {
		playReflector(t, func(sc *scene) {
			sc.server.noCache = true
			sc.server.do(put("c"))
			sc.r.WatchListPageSize = 2
		}, func(sc *scene) {
			sc.saw(paged("0", 0), paged("", 2), "Replace [a@1 b@2 c@3] at 3", resumeAt(3))
			sc.server.do(breakWith(expired()))
			time.Sleep(time.Second)
			sc.saw(paged("3", 0), paged("", 2), "Replace [a@1 b@2 c@3] at 3", resumeAt(3))
		})
	})
	t.Run("from then on, if the server has no cache", func(t *testing.T) {
		playReflector(t, func(sc *scene) {
			sc.server.noCache = true
			for i := range 500 {
				sc.server.do(put(fmt.Sprintf("p%d", i)))
			}
		}, func(sc *scene) {
			synctest.Wait()
			sc.log.take()
			sc.server.do(breakWith(expired()))
			time.Sleep(time.Second)
			synctest.Wait()
			if got := sc.log.take()[0]; got != `list version="502" limit=500 continue="" match=""` {
				sc.Error(got)
			}
		})
	})
	t.Run("whole, if a page is forgotten", func(t *testing.T) {
		playReflector(t, func(sc *scene) {
			sc.server.noCache = true
			sc.server.do(put("c"))
			sc.r.WatchListPageSize = 2
			sc.r = withList(sc, func(o metav1.ListOptions) error {
				if o.Continue != "" {
					return expired()
				}
				return nil
			})
		}, func(sc *scene) {
			sc.saw(paged("0", 0), `list version="0" limit=0 continue="" match=""`, "Replace [a@1 b@2 c@3] at 3", resumeAt(3))
		})
	})
}

// withList makes the scene's reflector fail some of its lists.
func withList(sc *scene, fails func(metav1.ListOptions) error) *cache.StoreReflector {
	lw := &cache.ListWatch{
		ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
			if err := fails(o); err != nil {
				return nil, err
			}
			return sc.server.List(o)
		},
		WatchFunc: sc.server.Watch,
	}
	r := cache.NewReflector(cache.ToListWatcherWithWatchListSemantics(lw, sc.server), &corev1.Pod{}, sc.store, 0)
	r.WatchListPageSize = sc.r.WatchListPageSize
	return r
}

func TestReflectorListsTheNewestIfItMust(t *testing.T) {
	tooLarge := apierrors.NewTimeoutError("", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	inWords := apierrors.NewTimeoutError("Too large resource version: 2, current: 1", 1)
	inACause := apierrors.NewTimeoutError("", 1)
	inACause.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Code: http.StatusGone}}
	for name, err := range map[string]error{"expired": expired(), "gone": gone, "too large": tooLarge, "too large, in words": inWords, "too large, in a cause": inACause} {
		t.Run(name, func(t *testing.T) {
			playReflector(t, nil, func(sc *scene) {
				synctest.Wait()
				sc.log.take()
				sc.server.do(failLists(err), breakWith(expired()))
				time.Sleep(time.Second)
				sc.saw(listAt(2), `list version="" limit=0 continue="" match=""`, "Replace [a@1 b@2] at 2", resumeAt(2))
				// The next time it need not.
				sc.server.do(breakWith(expired()))
				time.Sleep(2 * time.Second)
				sc.saw(listAt(2), "Replace [a@1 b@2] at 2", resumeAt(2))
			})
		})
	}
}

func TestReflectorResyncs(t *testing.T) {
	asked := 0
	playReflector(t, func(sc *scene) {
		sc.reflectorInto(sc.store, cache.ReflectorOptions{ResyncPeriod: 10 * time.Second})
		sc.r.ShouldResync = func() bool { asked++; return asked > 1 }
	}, func(sc *scene) {
		sc.saw(firstList, "Replace [a@1 b@2] at 2", resumeAt(2))
		time.Sleep(10 * time.Second)
		sc.saw()
		time.Sleep(10 * time.Second)
		sc.saw("Resync ")
		sc.store.refuse("Resync ")
		time.Sleep(10 * time.Second)
		sc.saw("Resync ")
		time.Sleep(time.Second)
		sc.saw(listAt(2), "Replace [a@1 b@2] at 2", resumeAt(2))
	})
}

func TestReflectorWaitsForABusyServer(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 1)
	playReflector(t, nil, func(sc *scene) {
		time.Sleep(time.Minute)
		sc.log.take()
		sc.server.do(failWatches(busy, syscall.ECONNREFUSED), disconnect, put("c"))
		sc.saw(resumeAt(2))
		time.Sleep(time.Second)
		sc.saw(resumeAt(2))
		time.Sleep(2 * time.Second)
		sc.saw(resumeAt(2), "Add c@3", "UpdateResourceVersion 3")
		sc.server.do(breakWith(busy))
		sc.saw()
		time.Sleep(4 * time.Second)
		sc.saw(resumeAt(3))
	})
}

func TestReflectorResumesAfterInternalErrors(t *testing.T) {
	internal := apierrors.NewInternalError(errors.New("no leader"))
	playReflector(t, func(sc *scene) {
		sc.r.MaxInternalErrorRetryDuration = 10 * time.Second
	}, func(sc *scene) {
		synctest.Wait()
		sc.log.take()
		for range 3 {
			sc.server.do(breakWith(internal))
			sc.saw(resumeAt(2))
			time.Sleep(5 * time.Second)
		}
		sc.server.do(breakWith(internal)) // for too long
		sc.saw()
		time.Sleep(time.Second)
		sc.saw(listAt(2), "Replace [a@1 b@2] at 2", resumeAt(2))
	})
}

func TestReflectorDoesNotBelieveAnEmptyWatch(t *testing.T) {
	playReflector(t, nil, func(sc *scene) {
		synctest.Wait()
		sc.log.take()
		sc.server.do(disconnect) // within a second, without an event
		sc.saw()
		time.Sleep(time.Second)
		sc.saw(listAt(2), "Replace [a@1 b@2] at 2", resumeAt(2))
		time.Sleep(time.Second)
		sc.server.do(disconnect)
		sc.saw(resumeAt(2))
	})
}

// TestReflectorVersionOfUnorderedEvents: where the server begins with events in no
// order, their versions are not what the store has reached.
func TestReflectorVersionOfUnorderedEvents(t *testing.T) {
	playReflector(t, func(sc *scene) {
		events := make(chan watch.Event, 10)
		events <- watch.Event{Type: watch.Added, Object: pod("a", 7)}
		events <- watch.Event{Type: watch.Added, Object: pod("b", 3)}
		events <- watch.Event{Type: watch.Modified, Object: pod("b", 8)}
		events <- watch.Event{Type: watch.Added, Object: pod("c", 9)}
		lw := &cache.ListWatch{
			ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return &openStream{events}, nil },
		}
		sc.r = cache.NewReflector(cache.ToListWatcherWithWatchListSemantics(lw, sc.server), &corev1.Pod{}, sc.store, 0)
	}, func(sc *scene) {
		sc.saw("Replace [] at ", "Add a@7", "Add b@3", "Update b@8", "UpdateResourceVersion 8", "Add c@9", "UpdateResourceVersion 9")
	})
}

func TestReflectorLeavesOutWhatDoesNotBelong(t *testing.T) {
	thing := func(kind, version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(version)
		u.SetKind(kind)
		u.SetName(kind)
		u.SetResourceVersion("3")
		return u
	}
	playReflector(t, func(sc *scene) {
		sc.r = cache.NewReflectorWithOptions(sc.server, thing("Pod", "v1"), sc.store, cache.ReflectorOptions{Backoff: steadyBackoff})
	}, func(sc *scene) {
		synctest.Wait()
		sc.log.take()
		sc.server.do(
			send(watch.Added, &corev1.Pod{}), send(watch.Added, thing("Node", "v1")),
			send(watch.Added, thing("Pod", "v2")), send(watch.Added, thing("Pod", "v1")))
		sc.saw("Add Pod@3", "UpdateResourceVersion 3")
	})
	playReflector(t, func(sc *scene) {
		sc.r = cache.NewReflector(sc.server, nil, sc.store, 0)
	}, func(sc *scene) {
		synctest.Wait()
		sc.log.take()
		sc.server.do(send(watch.Added, thing("Table", "meta.k8s.io/v1")), send(watch.Added, &metav1.Status{}), send(watch.Added, thing("Node", "v1")))
		sc.saw("Add Node@3", "UpdateResourceVersion 3")
	})
}

// TestReflectorDescribesItself: what it is called when nobody says so.
func TestReflectorDescribesItself(t *testing.T) {
	kind := &unstructured.Unstructured{}
	kind.SetAPIVersion("apps/v1")
	kind.SetKind("Deployment")
	for want, example := range map[string]any{
		"<unspecified>":              nil,
		"*v1.Pod":                    &corev1.Pod{},
		"apps/v1, Kind=Deployment":   kind,
		"*unstructured.Unstructured": &unstructured.Unstructured{},
	} {
		if got := cache.NewReflector(&cache.ListWatch{}, example, nil, 0).TypeDescription(); got != want {
			t.Errorf("%T is described as %q, want %q", example, got, want)
		}
	}
	r := cache.NewReflectorWithOptions(&cache.ListWatch{}, kind, nil, cache.ReflectorOptions{TypeDescription: "deployments"})
	if r.TypeDescription() != "deployments" {
		t.Error(r.TypeDescription())
	}
	if got := cache.NewNamedReflector("mine", &cache.ListWatch{}, nil, nil, 0).Name(); got != "mine" {
		t.Error(got)
	}
	if got := cache.NewReflector(&cache.ListWatch{}, nil, nil, 0).Name(); !strings.HasPrefix(got, "github.com/kinform/kinform/cache_test/classic_reflector_test.go:") {
		t.Errorf("a reflector that is made here is called %q", got)
	}
}

func TestReflectorKeepsAnIndexer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newTrace())
		s.do(put("a"))
		indexer, r := cache.NewNamespaceKeyedIndexerAndReflector(s, &corev1.Pod{}, 0)
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(stop)
		}()
		synctest.Wait()
		got, err := indexer.ByIndex(cache.NamespaceIndex, "ns")
		must(t, err)
		wantObjects(t, got, "a@1")
		close(stop)
		<-ended
	})
}

func TestReflectorAsksForLongWatches(t *testing.T) {
	for _, test := range []struct{ min, from, to time.Duration }{
		{0, 5 * time.Minute, 10 * time.Minute},
		{time.Minute, 5 * time.Minute, 10 * time.Minute},
		{time.Hour, time.Hour, 2 * time.Hour},
	} {
		for range 20 {
			var got time.Duration
			ctx, cancel := context.WithCancel(t.Context())
			lw := &cache.ListWatch{
				ListFunc: func(metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
				WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
					got = time.Duration(*o.TimeoutSeconds) * time.Second
					cancel()
					return watch.NewFake(), nil
				},
			}
			r := cache.NewReflectorWithOptions(lw, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), cache.ReflectorOptions{MinWatchTimeout: test.min})
			must(t, r.ListAndWatchWithContext(ctx))
			if got < test.from || got > test.to {
				t.Errorf("minimum %v: asked for %v", test.min, got)
			}
		}
	}
}
