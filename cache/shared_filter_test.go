package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/predicate"
	"github.com/kinform/kinform/wire"
)

// alter changes a pod of the server.
func alter(name string, change func(*corev1.Pod)) func(*server) {
	return func(s *server) {
		p := s.pods[name].DeepCopy()
		change(p)
		s.version++
		p.ResourceVersion = strconv.Itoa(s.version)
		s.pods[name] = p
		s.happenedLocked(watch.Modified, p)
	}
}

// protobufSource is byteSource in protobuf.
type protobufSource struct{ engine.Source }

func (s protobufSource) List(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	l, err := s.Source.List(ctx, o)
	return protobufList{l}, err
}

func (s protobufSource) Watch(ctx context.Context, o engine.WatchOptions) (engine.WatchStream, error) {
	w, err := s.Source.Watch(ctx, o)
	return protobufWatch{w}, err
}

type protobufList struct{ engine.ListStream }

func (l protobufList) Next() (engine.Item, error) {
	it, err := l.ListStream.Next()
	if err != nil {
		return it, err
	}
	return inProtobuf(it)
}

type protobufWatch struct{ engine.WatchStream }

func (w protobufWatch) Next() (engine.Event, error) {
	ev, err := w.WatchStream.Next()
	if err == nil && ev.Type != wire.Bookmark {
		ev.Item, err = inProtobuf(ev.Item)
	}
	return ev, err
}

func inProtobuf(it engine.Item) (engine.Item, error) {
	raw, err := it.Object.(*corev1.Pod).Marshal()
	return engine.Item{Format: wire.Protobuf, Bytes: raw}, err
}

// counted is kinform reading bytes of a format, and counts what it decodes.
func counted(decoded *atomic.Int64, format wire.Format) side {
	return side{"kinform, reading " + fmt.Sprint(format), func(lw cache.ListerWatcher, example runtime.Object, o cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
		var source engine.Source = byteSource{kube.NewObjectSource("pods", lw)}
		if format == wire.Protobuf {
			source = protobufSource{kube.NewObjectSource("pods", lw)}
		}
		decode := dropin.DecodeTyped(example)
		return cache.NewSharedIndexInformerWithOptions(&dropin.ListWatch{
			ListerWatcher: lw,
			Open:          func(dropin.Needs) engine.Source { return source },
			Decode: func(r *engine.Record, near engine.Neighbour, kinds engine.Kinds) (any, error) {
				decoded.Add(1)
				return decode(r, near, kinds)
			},
			Needs: dropin.Anything,
		}, example, o)
	}, cache.WaitForCacheSync}
}

// unpacked is kinform that holds objects as they come.
var unpacked = side{"kinform, unpacked", func(lw cache.ListerWatcher, example runtime.Object, o cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	i := cache.NewSharedIndexInformerWithOptions(lw, example, o)
	_ = cache.SetObjectOptions(i, cache.ObjectOptions{Unpacked: true}) // it does not run yet
	return i
}, cache.WaitForCacheSync}

// told notes what a handler is told.
type told struct{ lines []string }

func (h *told) OnAdd(obj any, initial bool) {
	h.lines = append(h.lines, fmt.Sprint("add ", show(obj), initial))
}
func (h *told) OnUpdate(old, obj any) {
	h.lines = append(h.lines, fmt.Sprint("update ", show(old), " ", show(obj)))
}
func (h *told) OnDelete(obj any) { h.lines = append(h.lines, "delete "+show(obj)) }

// byHand is what programs write: a handler that compares the objects.
type byHand struct {
	told
	accepts func(old, now *corev1.Pod) bool
}

func (h *byHand) OnUpdate(old, obj any) {
	if h.accepts(old.(*corev1.Pod), obj.(*corev1.Pod)) {
		h.told.OnUpdate(old, obj)
	}
}

func readiness(p *corev1.Pod) corev1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status
		}
	}
	return ""
}

func differ(a, b any) bool { return !equality.Semantic.DeepEqual(a, b) }

var filters = []struct {
	predicate.Predicate
	byHand func(old, now *corev1.Pod) bool
}{
	{predicate.GenerationChanged(), func(a, b *corev1.Pod) bool { return a.Generation != b.Generation }},
	{predicate.LabelsChanged(), func(a, b *corev1.Pod) bool { return differ(a.Labels, b.Labels) }},
	{predicate.AnnotationsChanged(), func(a, b *corev1.Pod) bool { return differ(a.Annotations, b.Annotations) }},
	{predicate.SpecChanged(), func(a, b *corev1.Pod) bool { return differ(a.Spec, b.Spec) }},
	{predicate.StatusChanged(), func(a, b *corev1.Pod) bool { return differ(a.Status, b.Status) }},
	{predicate.ConditionChanged("Ready"), func(a, b *corev1.Pod) bool { return readiness(a) != readiness(b) }},
	{predicate.ConditionBecame("Ready", "True"), func(a, b *corev1.Pod) bool { return readiness(a) != "True" && readiness(b) == "True" }},
	{predicate.Changed("spec.nodeName"), func(a, b *corev1.Pod) bool { return a.Spec.NodeName != b.Spec.NodeName }},
	{predicate.Any(predicate.SpecChanged(), predicate.LabelsChanged()),
		func(a, b *corev1.Pod) bool { return differ(a.Spec, b.Spec) || differ(a.Labels, b.Labels) }},
	{predicate.All(predicate.SpecChanged(), predicate.LabelsChanged()),
		func(a, b *corev1.Pod) bool { return differ(a.Spec, b.Spec) && differ(a.Labels, b.Labels) }},
	{predicate.Any(), func(_, _ *corev1.Pod) bool { return true }},
}

// edits are what happens to pods.
var edits = []func(r *rand.Rand, p *corev1.Pod){
	func(*rand.Rand, *corev1.Pod) {},
	func(r *rand.Rand, p *corev1.Pod) { p.Generation = r.Int64N(3) },
	func(r *rand.Rand, p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, "l", fmt.Sprint(r.IntN(3))) },
	func(_ *rand.Rand, p *corev1.Pod) { p.Labels = nil },
	func(_ *rand.Rand, p *corev1.Pod) { p.Labels = map[string]string{} },
	func(r *rand.Rand, p *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, "a", fmt.Sprint(r.IntN(3)))
	},
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.NodeName = fmt.Sprint("node-", r.IntN(3)) },
	func(r *rand.Rand, p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: fmt.Sprint("c", r.IntN(2))}}
	},
	func(r *rand.Rand, p *corev1.Pod) {
		p.Status.Phase = []corev1.PodPhase{"Pending", "Running", ""}[r.IntN(3)]
	},
	func(r *rand.Rand, p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: "Other", Status: "True"}, {Type: "Ready", Status: []corev1.ConditionStatus{"True", "False"}[r.IntN(2)],
			Message: fmt.Sprint(r.IntN(3))}}
	},
	func(_ *rand.Rand, p *corev1.Pod) { p.Status.Conditions = nil },
}

// listen runs an informer of a side through a story, and returns what its handlers were told.
func listen(t *testing.T, s side, handlers []cache.ResourceEventHandler, o cache.SharedIndexInformerOptions, transform cache.TransformFunc, story func(*server)) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(newTrace())
		srv.noWatchList = true
		srv.do(three)
		inf := s.make(srv, &corev1.Pod{}, o)
		if transform != nil {
			if err := inf.SetTransform(transform); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range handlers {
			if _, err := inf.AddEventHandler(h); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			inf.RunWithContext(ctx)
		}()
		synctest.Wait()
		story(srv)
		synctest.Wait()
		cancel()
		<-ended
	})
}

// TestFilteredUpdates: a handler behind a predicate is told what one is told that compares
// client-go's objects itself, whatever the informer holds, and on client-go's own informer.
func TestFilteredUpdates(t *testing.T) {
	var decoded atomic.Int64
	strip := func(obj any) (any, error) {
		p := obj.(*corev1.Pod)
		p.Labels = map[string]string{"phase": string(p.Status.Phase)} // made of what the predicate does not ask for
		return p, nil
	}
	for name, transform := range map[string]cache.TransformFunc{"as sent": nil, "transformed": strip} {
		story := func(srv *server) {
			r := rand.New(rand.NewPCG(1, 1))
			for range 300 {
				srv.do(alter([]string{"a", "b", "c"}[r.IntN(3)], func(p *corev1.Pod) {
					for range 1 + r.IntN(2) {
						edits[r.IntN(len(edits))](r, p)
					}
				}))
				synctest.Wait()
			}
			srv.do(remove("b"))
		}
		var want []*byHand
		var handlers []cache.ResourceEventHandler
		for _, f := range filters {
			want = append(want, &byHand{accepts: f.byHand})
			handlers = append(handlers, want[len(want)-1])
		}
		listen(t, theirs, handlers, cache.SharedIndexInformerOptions{}, transform, story)
		for _, s := range []side{theirs, ours, unpacked, counted(&decoded, wire.JSON), counted(&decoded, wire.Protobuf)} {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				var got []*told
				var handlers []cache.ResourceEventHandler
				for _, f := range filters {
					got = append(got, &told{})
					handlers = append(handlers, &cache.FilteringUpdateHandler{Predicate: f.Predicate, Handler: got[len(got)-1]})
				}
				listen(t, s, handlers, cache.SharedIndexInformerOptions{}, transform, story)
				for i, f := range filters {
					if n := len(want[i].lines); n < 6 || n > 310 {
						t.Errorf("%s: by hand %d calls", f, n)
					}
					if !slices.Equal(got[i].lines, want[i].lines) {
						t.Errorf("%s: by hand (-) and filtered (+) differ:\n%s", f, lineDiff(want[i].lines, got[i].lines))
					}
				}
			})
		}
	}
}

// TestRefusedUpdatesAreNotDecoded: nothing is, neither for handlers nor ahead of them.
func TestRefusedUpdatesAreNotDecoded(t *testing.T) {
	for _, format := range []wire.Format{wire.JSON, wire.Protobuf} {
		var decoded atomic.Int64
		var h told
		var before int64
		handler := cache.FilteringUpdateHandler{Predicate: predicate.Any(predicate.SpecChanged(), predicate.ConditionBecame("Ready", "True")), Handler: &h}
		listen(t, counted(&decoded, format), []cache.ResourceEventHandler{handler}, cache.SharedIndexInformerOptions{}, nil, func(srv *server) {
			before = decoded.Load()
			for i := range 500 {
				srv.do(alter("a", func(p *corev1.Pod) { p.Status.Message = fmt.Sprint(i) }))
			}
			synctest.Wait()
			if n := decoded.Load() - before; n != 0 {
				t.Errorf("%v: %d objects were decoded for updates that were refused", format, n)
			}
			srv.do(alter("a", func(p *corev1.Pod) { p.Spec.NodeName = "n" }))
		})
		if n := decoded.Load() - before; n < 1 || n > 2 || len(h.lines) != 4 {
			t.Errorf("%v: %d were decoded for one update that was accepted, %q", format, n, h.lines)
		}
	}
}

// TestFilterAsSent: with a transform, the server's states are asked if the program says so.
func TestFilterAsSent(t *testing.T) {
	var decoded atomic.Int64
	hide := func(obj any) (any, error) {
		obj.(*corev1.Pod).Spec = corev1.PodSpec{}
		return obj, nil
	}
	var seen, sent told
	var before int64
	listen(t, counted(&decoded, wire.Protobuf), []cache.ResourceEventHandler{
		cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &sent, AsSent: true},
	}, cache.SharedIndexInformerOptions{}, hide, func(srv *server) {
		before = decoded.Load()
		srv.do(alter("a", func(p *corev1.Pod) { p.Status.Phase = "Running" }))
		synctest.Wait()
		if n := decoded.Load(); n != before {
			t.Errorf("%d were decoded", n-before)
		}
		srv.do(alter("a", func(p *corev1.Pod) { p.Spec.NodeName = "n" }))
	})
	listen(t, counted(&decoded, wire.Protobuf), []cache.ResourceEventHandler{
		cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &seen},
	}, cache.SharedIndexInformerOptions{}, hide, func(srv *server) {
		srv.do(alter("a", func(p *corev1.Pod) { p.Spec.NodeName = "n" }))
	})
	if len(sent.lines) != 4 || len(seen.lines) != 3 {
		t.Errorf("as sent %q, as seen %q", sent.lines, seen.lines)
	}
}

// TestFilterAndResync: a resync changes nothing.
func TestFilterAndResync(t *testing.T) {
	for _, s := range []side{theirs, ours, oursBytes} {
		var all, some told
		listen(t, s, []cache.ResourceEventHandler{&all, cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &some}},
			cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute}, nil, func(*server) {
				time.Sleep(time.Minute + time.Second) // the bubble's clock
			})
		if len(all.lines) != 6 || len(some.lines) != 3 {
			t.Errorf("%s: %q, filtered %q", s.name, all.lines, some.lines)
		}
	}
}

// TestFilterAndUnreadable: the first state that can be read is an add, whatever has
// changed since the one that could not.
func TestFilterAndUnreadable(t *testing.T) {
	var h told
	var broken atomic.Bool
	s := side{name: "kinform", make: func(lw cache.ListerWatcher, example runtime.Object, o cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
		source := byteSource{kube.NewObjectSource("pods", lw)}
		decode := dropin.DecodeTyped(example)
		return cache.NewSharedIndexInformerWithOptions(&dropin.ListWatch{ListerWatcher: lw, Open: func(dropin.Needs) engine.Source { return source },
			Decode: func(r *engine.Record, near engine.Neighbour, kinds engine.Kinds) (any, error) {
				if broken.Load() {
					return nil, errors.New("out of order")
				}
				return decode(r, near, kinds)
			}}, example, o)
	}}
	listen(t, s, []cache.ResourceEventHandler{cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &h}},
		cache.SharedIndexInformerOptions{}, nil, func(srv *server) {
			broken.Store(true)
			srv.do(put("new"))
			synctest.Wait()
			broken.Store(false)
			srv.do(alter("new", func(p *corev1.Pod) { p.Status.Phase = "Running" }))
		})
	if len(h.lines) != 4 || !strings.HasPrefix(h.lines[3], "add new@") {
		t.Errorf("%q", h.lines)
	}
}

// TestFilterInFilter: an update has to pass both.
func TestFilterInFilter(t *testing.T) {
	for _, s := range []side{theirs, ours, oursBytes} {
		var h told
		inner := cache.FilteringUpdateHandler{Predicate: predicate.LabelsChanged(), Handler: &h}
		listen(t, s, []cache.ResourceEventHandler{cache.FilteringUpdateHandler{Predicate: predicate.StatusChanged(), Handler: &inner}},
			cache.SharedIndexInformerOptions{}, nil, func(srv *server) {
				srv.do(put("new"))
				srv.do(alter("new", func(p *corev1.Pod) { p.Status.Phase = "Running" }))
				srv.do(alter("new", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "1"} }))
				srv.do(alter("new", func(p *corev1.Pod) { p.Labels, p.Status.Phase = map[string]string{"a": "2"}, "Failed" }))
			})
		if len(h.lines) != 5 {
			t.Errorf("%s: %q", s.name, h.lines)
		}
	}
}
