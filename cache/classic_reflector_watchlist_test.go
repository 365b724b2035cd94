package cache_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
)

func TestReflectorFillsFromAWatch(t *testing.T) {
	initial := func(version string) string {
		return fmt.Sprintf(`watch version=%q initial=true match="NotOlderThan" bookmarks=true`, version)
	}
	streaming := func(sc *scene) {
		sc.server.noWatchList = false
		sc.reflectorInto(sc.store, cache.ReflectorOptions{})
	}
	t.Run("and goes on with it", func(t *testing.T) {
		playReflector(t, streaming, func(sc *scene) {
			sc.saw(initial(""), "Replace [a@1 b@2] at 2")
			sc.server.do(put("c"))
			sc.saw("Add c@3", "UpdateResourceVersion 3")
			sc.server.do(breakWith(expired()), put("c"))
			time.Sleep(time.Second)
			sc.saw(initial("3"), "Replace [a@1 b@2 c@4] at 4")
		})
	})
	t.Run("or from a list, if the server refuses", func(t *testing.T) {
		playReflector(t, func(sc *scene) {
			streaming(sc)
			sc.server.do(failWatches(apierrors.NewInvalid(schema.GroupKind{}, "", nil)))
		}, func(sc *scene) {
			sc.saw(initial(""), firstList, "Replace [a@1 b@2] at 2", resumeAt(2))
		})
	})
	t.Run("as new as can be, if the server cannot serve the version", func(t *testing.T) {
		playReflector(t, streaming, func(sc *scene) {
			sc.saw(initial(""), "Replace [a@1 b@2] at 2")
			time.Sleep(time.Minute)
			sc.server.do(failWatches(errors.New("broken"), expired()), disconnect)
			time.Sleep(2 * time.Second)
			sc.saw(resumeAt(2), initial("2"), initial(""), "Replace [a@1 b@2] at 2")
		})
	})
	t.Run("later, if the server is busy", func(t *testing.T) {
		playReflector(t, func(sc *scene) {
			streaming(sc)
			sc.server.do(failWatches(apierrors.NewTooManyRequests("busy", 1), syscall.ECONNREFUSED))
		}, func(sc *scene) {
			sc.saw(initial(""))
			time.Sleep(time.Minute)
			sc.saw(initial(""), initial(""), "Replace [a@1 b@2] at 2")
		})
	})
}

// stream is a source whose watches bring what the test writes, and whose lists
// have one pod.
type stream struct {
	events chan watch.Event
	log    *trace
}

func (s *stream) List(metav1.ListOptions) (runtime.Object, error) {
	s.log.note("list")
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.Pod{*pod("listed", 9)}}, nil
}

func (s *stream) Watch(o metav1.ListOptions) (watch.Interface, error) {
	s.log.note("watch initial=%t", o.SendInitialEvents != nil)
	if o.SendInitialEvents == nil {
		return watch.NewFake(), nil
	}
	return &openStream{s.events}, nil
}

type openStream struct{ events chan watch.Event }

func (w *openStream) ResultChan() <-chan watch.Event { return w.events }
func (w *openStream) Stop()                          {}

// TestReflectorListsWhenAWatchIsIncomplete: a server, or a proxy before it, that
// never ends the first events does not keep the store empty forever.
func TestReflectorListsWhenAWatchIsIncomplete(t *testing.T) {
	after := []string{"list", "Replace [listed@9] at 9", "watch initial=false"}
	t.Run("it ends", func(t *testing.T) {
		playReflector(t, func(sc *scene) {
			s := &stream{events: make(chan watch.Event, 2), log: sc.log}
			s.events <- watch.Event{Type: watch.Added, Object: pod("a", 1)}
			close(s.events)
			sc.r = cache.NewReflector(s, &corev1.Pod{}, sc.store, 0)
		}, func(sc *scene) {
			sc.saw(append([]string{"watch initial=true"}, after...)...)
		})
	})
	t.Run("it falls silent", func(t *testing.T) {
		s := &stream{}
		playReflector(t, func(sc *scene) {
			s.events, s.log = make(chan watch.Event), sc.log
			sc.r = cache.NewReflector(s, &corev1.Pod{}, sc.store, 0)
		}, func(sc *scene) {
			time.Sleep(50 * time.Second)
			s.events <- watch.Event{Type: watch.Added, Object: pod("a", 1)}
			time.Sleep(55 * time.Second)
			sc.saw("watch initial=true")
			time.Sleep(15 * time.Second)
			sc.saw(after...)
		})
	})
}

func TestReflectorStreamsInOrder(t *testing.T) {
	playReflector(t, func(sc *scene) {
		s := &stream{events: make(chan watch.Event, 10), log: sc.log}
		for _, name := range []string{"z", "y", "x"} {
			s.events <- watch.Event{Type: watch.Added, Object: pod(name, 1)}
		}
		s.events <- watch.Event{Type: watch.Modified, Object: pod("z", 2)}
		s.events <- watch.Event{Type: watch.Deleted, Object: pod("y", 3)}
		s.events <- newServer(nil).bookmarkLocked(metav1.InitialEventsAnnotationKey, "true")
		sc.store.transform = transform
		sc.r = cache.NewReflector(s, &corev1.Pod{}, ordered{sc.store}, 0)
	}, func(sc *scene) {
		sc.saw("watch initial=true", "in order: [z@2 transformed 1 x@1 transformed 1]")
	})
}

// ordered notes the objects of a list as they come.
type ordered struct{ *recorder }

func (o ordered) Replace(list []any, _ string) error {
	o.log.note("in order: %s", showAll(list))
	return nil
}
