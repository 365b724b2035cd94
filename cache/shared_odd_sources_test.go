package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// Sources of objects that only look like a server's, and programs that make of objects
// what no server would send: here kinform does as client-go does.

// oddSource is a source, an informer's transform, and what happens.
type oddSource struct {
	name      string
	version   string
	listed    []runtime.Object
	transform func(any) (any, error)
	happens   []func(*oddPlay)
}

// oddPlay is the life of one informer on such a source.
type oddPlay struct {
	*source
	watched []string // the versions that watches began from
	log     []string
}

func (p *oddPlay) IsWatchListSemanticsUnSupported() bool { return true }

func (p *oddPlay) Watch(o metav1.ListOptions) (watch.Interface, error) {
	p.watched = append(p.watched, o.ResourceVersion)
	return p.source.Watch(o)
}

func sends(kind watch.EventType, o runtime.Object) func(*oddPlay) {
	return func(p *oddPlay) {
		w := <-p.watches
		w.Action(kind, o)
		p.watches <- w
	}
}

func relists(version string, o ...runtime.Object) func(*oddPlay) {
	return func(p *oddPlay) { p.relist(version, o...) }
}

// breaks ends the watch, and waits for the next one.
func breaks(p *oddPlay) {
	(<-p.watches).Stop()
	p.watches <- <-p.watches
}

func (p *oddPlay) handler() clientgo.ResourceEventHandler {
	return clientgo.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { p.log = append(p.log, "add "+inShort(o)) },
		UpdateFunc: func(a, b any) { p.log = append(p.log, "update "+inShort(a)+" to "+inShort(b)) },
		DeleteFunc: func(o any) { p.log = append(p.log, "delete "+inShort(o)) },
	}
}

// inShort tells which state of an object it is.
func inShort(obj any) string {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return "the last known " + inShort(gone.Obj)
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s@%s %s", o.GetName(), o.GetResourceVersion(), o.GetAnnotations()["x"])
}

// play returns what handlers, watches and readers see.
func (s oddSource) play(t *testing.T, create func(clientgo.ListerWatcher, runtime.Object) clientgo.SharedIndexInformer) (log []string) {
	synctest.Test(t, func(t *testing.T) {
		p := &oddPlay{source: newSource(s.version, s.listed...)}
		i := create(p, s.example())
		if s.transform != nil {
			_ = i.SetTransform(s.transform)
		}
		_, _ = i.AddEventHandler(p.handler())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			i.RunWithContext(ctx)
		}()
		for _, f := range s.happens {
			synctest.Wait()
			f(p)
		}
		synctest.Wait()
		log = append(p.log, fmt.Sprint("watches from ", p.watched))
		var all []string
		for _, o := range i.GetStore().List() {
			all = append(all, "stored "+inShort(o))
		}
		slices.Sort(all)
		log = append(log, all...)
		cancel()
		<-done
	})
	return log
}

func (s oddSource) example() runtime.Object {
	if len(s.listed) == 0 {
		return &corev1.Pod{}
	}
	return s.listed[0]
}

func oursOf(lw clientgo.ListerWatcher, o runtime.Object) clientgo.SharedIndexInformer {
	return cache.NewSharedIndexInformer(lw, o, 0, cache.Indexers{})
}

func theirsOf(lw clientgo.ListerWatcher, o runtime.Object) clientgo.SharedIndexInformer {
	return clientgo.NewSharedIndexInformer(lw, o, 0, clientgo.Indexers{})
}

// inState is a pod in a state that can be told from others.
func inState(name string, version int, state string) *corev1.Pod {
	return sentPod(name, version, func(p *corev1.Pod) { p.Annotations = map[string]string{"x": state} })
}

// made is one that a test has made: it has a uid, and never was on a server.
func made(name string, version int, state string) *corev1.Pod {
	p := inState(name, version, state)
	p.UID = "uid-1"
	return p
}

// older is one with a uid as servers give it, but no time at which it was made.
func older(name string, version int, state string) *corev1.Pod {
	p := inState(name, version, state)
	p.CreationTimestamp = metav1.Time{}
	return p
}

// tree is a type that contains itself without a struct in between.
type (
	tree   []tree
	chain  *chain
	forest struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Tree              tree            `json:"tree,omitempty"`
		Chain             chain           `json:"chain,omitempty"`
		Trees             map[string]tree `json:"trees,omitempty"`
		Parent            *forest         `json:"-"`
	}
)

func (f *forest) DeepCopyObject() runtime.Object {
	c := *f
	if f.Parent != nil {
		c.Parent = f.Parent.DeepCopyObject().(*forest) // without end if f is its own parent
	}
	return &c
}

func newForest(name string, change func(*forest)) *forest {
	f := &forest{ObjectMeta: sentPod(name, 5).ObjectMeta, Tree: tree{{}, {{}}}, Trees: map[string]tree{"a": {{}}}}
	change(f)
	return f
}

// family has a child that knows its parent, as its own method tells it.
type (
	family struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Child             *child `json:"child,omitempty"`
	}
	child struct {
		Name   string `json:"name"`
		parent *family
	}
)

func (f *family) DeepCopyObject() runtime.Object { c := *f; return &c }

func (f *family) UnmarshalJSON(raw []byte) error {
	type plain family
	err := json.Unmarshal(raw, (*plain)(f))
	if f.Child != nil {
		f.Child.parent = f
	}
	return err
}

func newFamily(name string) *family {
	f := &family{ObjectMeta: sentPod(name, 5).ObjectMeta, Child: &child{Name: "c"}}
	f.Child.parent = f
	return f
}

// loose is an object without a type whose map may contain itself.
func loose(name string, change func(map[string]any)) *unstructured.Unstructured {
	o := map[string]any{
		"apiVersion": "v1", "kind": "Loose",
		"metadata": map[string]any{
			"name": name, "namespace": "ns", "resourceVersion": "5", "creationTimestamp": "2026-01-01T00:00:00Z",
			"uid": "5a0a3d5c-5b0e-4b0e-9c0e-000000000001",
		},
	}
	change(o)
	return &unstructured.Unstructured{Object: o}
}

var oddSources = []oddSource{
	{
		name: "an older state, made by a test", version: "10", listed: []runtime.Object{made("a", 5, "1")},
		happens: []func(*oddPlay){
			sends(watch.Modified, made("a", 3, "2")), sends(watch.Deleted, made("a", 2, "3")), sends(watch.Added, made("a", 1, "4")),
		},
	},
	{
		name: "an older state without a time", version: "10", listed: []runtime.Object{older("a", 5, "1")},
		happens: []func(*oddPlay){sends(watch.Modified, older("a", 3, "2")), sends(watch.Deleted, older("a", 2, "3"))},
	},
	{
		name: "nothing listed, and then versions from before the list", version: "10",
		happens: []func(*oddPlay){
			sends(watch.Added, inState("a", 3, "1")), sends(watch.Modified, inState("a", 2, "2")),
			sends(watch.Deleted, inState("a", 1, "3")), sends(watch.Added, inState("a", 1, "4")),
		},
	},
	{
		name: "lists whose versions go back", version: "10", listed: []runtime.Object{inState("a", 9, "1")},
		happens: []func(*oddPlay){relists("8", inState("a", 5, "2")), sends(watch.Modified, inState("a", 9, "3"))},
	},
	{
		name: "a transform that drops the version", version: "10", listed: []runtime.Object{inState("a", 5, "1")},
		transform: func(o any) (any, error) {
			p := o.(*corev1.Pod)
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Annotations: p.Annotations}}, nil
		},
		happens: []func(*oddPlay){
			sends(watch.Modified, inState("a", 12, "2")), breaks, sends(watch.Deleted, inState("a", 13, "3")), breaks,
		},
	},
	{
		name: "a transform that drops the version, on a source with other versions", version: "v10",
		listed: []runtime.Object{inState("a", 5, "1")},
		transform: func(o any) (any, error) {
			p := o.(*corev1.Pod).DeepCopy()
			p.ResourceVersion = ""
			return p, nil
		},
		happens: []func(*oddPlay){sends(watch.Modified, inState("a", 12, "2")), breaks},
	},
	{
		name: "a transform that gives all states one version", version: "10", listed: []runtime.Object{inState("a", 5, "1")},
		transform: func(o any) (any, error) {
			p := o.(*corev1.Pod).DeepCopy()
			p.ResourceVersion = "1"
			return p, nil
		},
		happens: []func(*oddPlay){
			sends(watch.Modified, inState("a", 12, "2")), relists("20", inState("a", 13, "3")), sends(watch.Modified, inState("a", 21, "4")),
		},
	},
	{
		name: "types that contain themselves", version: "10",
		listed: []runtime.Object{newForest("a", func(*forest) {}), newForest("b", func(f *forest) { f.Tree = tree{} })},
	},
	{
		name: "objects that contain themselves", version: "10",
		listed: []runtime.Object{newForest("a", func(*forest) {}), newForest("b", func(f *forest) { f.Parent = f })},
	},
	{
		name: "objects whose own methods have them contain themselves", version: "10",
		listed: []runtime.Object{newFamily("a"), newFamily("b")},
	},
	{
		name: "a newer list with an older state", version: "10", listed: []runtime.Object{inState("a", 5, "1")},
		happens: []func(*oddPlay){relists("20", inState("a", 3, "2")), sends(watch.Modified, inState("a", 2, "3"))},
	},
	{
		name: "objects of another type", version: "10", listed: []runtime.Object{inState("a", 5, "1")},
		happens: []func(*oddPlay){
			sends(watch.Modified, &corev1.ConfigMap{ObjectMeta: sentPod("a", 11).ObjectMeta}),
			sends(watch.Deleted, &corev1.ConfigMap{ObjectMeta: sentPod("a", 12).ObjectMeta}),
			sends(watch.Modified, &metav1.Status{}), sends(watch.Modified, nil), sends("LATER", inState("a", 13, "2")),
			sends(watch.Modified, inState("a", 14, "3")),
		},
	},
	{
		name: "objects without a name", version: "10", listed: []runtime.Object{inState("", 5, "1"), inState("a", 6, "1")},
		happens: []func(*oddPlay){sends(watch.Modified, inState("", 11, "2")), sends(watch.Deleted, inState("", 12, "3"))},
	},
	{
		name: "fields that contain themselves", version: "10",
		listed: []runtime.Object{loose("a", func(map[string]any) {}), loose("b", func(o map[string]any) { o["x"] = o })},
	},
}

// TestOddSources: what handlers get, what readers see, and where watches go on.
func TestOddSources(t *testing.T) {
	for _, s := range oddSources {
		t.Run(s.name, func(t *testing.T) {
			want, got := s.play(t, theirsOf), s.play(t, oursOf)
			if !slices.Equal(want, got) {
				t.Errorf("client-go:\n\t%s\nkinform:\n\t%s", strings.Join(want, "\n\t"), strings.Join(got, "\n\t"))
			}
		})
	}
}

// TestStatesOutOfOrder: a source whose lists and events agree, and whose objects look
// like a server's in all ways but one, is believed.
func TestStatesOutOfOrder(t *testing.T) {
	for _, s := range []oddSource{
		{name: "a change", listed: []runtime.Object{inState("a", 5, "1")}, happens: []func(*oddPlay){
			becomes(watch.Modified, inState("a", 3, "2")), becomes(watch.Modified, inState("a", 2, "3")),
		}},
		{name: "made again", listed: []runtime.Object{inState("a", 5, "1")}, happens: []func(*oddPlay){
			becomes(watch.Deleted, inState("a", 11, "2")), becomes(watch.Added, inState("a", 6, "3")), becomes(watch.Modified, inState("a", 4, "4")),
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			s.version = "10"
			want, got := s.play(t, theirsOf), s.play(t, oursOf)
			at := func(log []string) int {
				return slices.IndexFunc(log, func(l string) bool { return strings.HasPrefix(l, "watches") })
			}
			want, got = slices.Delete(want, at(want), at(want)+1), slices.Delete(got, at(got), at(got)+1)
			if !slices.Equal(want, got) {
				t.Errorf("client-go:\n\t%s\nkinform:\n\t%s", strings.Join(want, "\n\t"), strings.Join(got, "\n\t"))
			}
		})
	}
}

// becomes sends an event that a list agrees with.
func becomes(kind watch.EventType, o runtime.Object) func(*oddPlay) {
	return func(p *oddPlay) {
		w := <-p.watches
		p.version += "0"
		if p.objects = []runtime.Object{o}; kind == watch.Deleted {
			p.objects = nil
		}
		w.Action(kind, o)
		synctest.Wait()
		if len(p.watches) == 0 { // else it was left for a list
			p.watches <- w
		}
	}
}

// half has some of the methods of metadata; the others panic.
type half struct {
	metav1.TypeMeta
	metav1.Object
	name string
}

func (h *half) GetName() string                { return h.name }
func (h *half) DeepCopyObject() runtime.Object { c := *h; return &c }

// TestStrangersInList: what is no object, or no whole one, is left out.
func TestStrangersInList(t *testing.T) {
	for name, stranger := range map[string]runtime.Object{"nothing": (*corev1.Pod)(nil), "half": &half{name: "h"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h calls
				start(t, newSource("10", sentPod("a", 5), stranger, sentPod("b", 6)), nil, h.join)
				if len(h.added) != 2 {
					t.Errorf("%d were added, want 2", len(h.added))
				}
			})
		})
	}
}

// TestNothingStaysForStrangers: an object of another type in a list does not stand for
// one of ours.
func TestNothingStaysForStrangers(t *testing.T) {
	s := oddSource{version: "10", listed: []runtime.Object{inState("a", 5, "1"), inState("b", 5, "1")}, happens: []func(*oddPlay){
		relists("20", &corev1.ConfigMap{ObjectMeta: sentPod("a", 15).ObjectMeta}, inState("b", 5, "1")),
	}}
	if log := s.play(t, oursOf); slices.Contains(log, "stored a@5 1") || !slices.Contains(log, "stored b@5 1") {
		t.Errorf("%q", log)
	}
}

// slowly takes its time to be written.
type slowly struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (s *slowly) DeepCopyObject() runtime.Object { c := *s; return &c }

func (s *slowly) MarshalJSON() ([]byte, error) {
	<-time.After(time.Second)
	type plain slowly
	return json.Marshal((*plain)(s))
}

// TestSlowObjects: packing ends when the informer does, and is given up where it takes
// long.
func TestSlowObjects(t *testing.T) {
	var all []runtime.Object
	for n := range 100 {
		all = append(all, &slowly{ObjectMeta: sentPod(fmt.Sprint("s", n), 5).ObjectMeta})
	}
	synctest.Test(t, func(t *testing.T) {
		i := oursOf(newSource("10", all...), &slowly{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			i.RunWithContext(ctx)
		}()
		began := time.Now()
		cache.WaitForCacheSync(ctx.Done(), i.HasSynced)
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it was synced after %v", took)
		}
		cancel()
		<-done
	})
	synctest.Test(t, func(t *testing.T) {
		i := oursOf(newSource("10", all...), &slowly{})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		began := time.Now()
		i.RunWithContext(ctx)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it stopped after %v", took)
		}
	})
}

// TestFakeClientsetGoesBack: client-go's fakes count the versions of their lists, and
// take the versions of objects as tests give them.
func TestFakeClientsetGoesBack(t *testing.T) {
	play := func(create func(clientgo.ListerWatcher, runtime.Object) clientgo.SharedIndexInformer) (log []string) {
		synctest.Test(t, func(t *testing.T) {
			all := fake.NewClientset(made("a", 2, "1"), made("b", 1, "1"), made("c", 2, "1"))
			pods := all.CoreV1().Pods("ns")
			lw := &clientgo.ListWatch{
				ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
				WatchFuncWithContext: pods.Watch,
			}
			i := create(clientgo.ToListWatcherWithWatchListSemantics(lw, all), &corev1.Pod{})
			p := &oddPlay{}
			_, _ = i.AddEventHandler(p.handler())
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				i.RunWithContext(ctx)
			}()
			synctest.Wait()
			for _, f := range []func() error{
				func() error { _, err := pods.Update(ctx, made("a", 1, "2"), metav1.UpdateOptions{}); return err },
				func() error { return pods.Delete(ctx, "a", metav1.DeleteOptions{}) },
				func() error { _, err := pods.Create(ctx, made("a", 1, "3"), metav1.CreateOptions{}); return err },
				func() error { return pods.Delete(ctx, "c", metav1.DeleteOptions{}) },
				func() error { _, err := pods.Create(ctx, made("c", 1, "2"), metav1.CreateOptions{}); return err },
			} {
				if err := f(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			log = p.log
			cancel()
			<-done
		})
		return log
	}
	want, got := play(theirsOf), play(oursOf)
	slices.Sort(want[:3]) // the initial ones, in no order
	slices.Sort(got[:3])
	if !slices.Equal(want, got) {
		t.Errorf("client-go:\n\t%s\nkinform:\n\t%s", strings.Join(want, "\n\t"), strings.Join(got, "\n\t"))
	}
}

// TestKeysListedTwice: the second is a change, or nothing if it is older.
func TestKeysListedTwice(t *testing.T) {
	for name, s := range map[string]oddSource{
		"the newer last":  {version: "10", listed: []runtime.Object{inState("a", 5, "1"), inState("a", 6, "2")}},
		"the newer first": {version: "10", listed: []runtime.Object{inState("a", 6, "2"), inState("a", 5, "1")}},
		"made by a test":  {version: "10", listed: []runtime.Object{made("a", 6, "1"), made("a", 5, "2")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(s.play(t, oursOf), "; ")
			want := map[string]string{
				"the newer last":  "add a@5 1; update a@5 1 to a@6 2; watches from [10]; stored a@6 2",
				"the newer first": "add a@6 2; watches from [10]; stored a@6 2",
				"made by a test":  "add a@6 1; update a@6 1 to a@5 2; watches from [10]; stored a@5 2",
			}[name]
			if got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

// TestResumedWhereAllIsKnown: an event from before the list does not take the watch back.
func TestResumedWhereAllIsKnown(t *testing.T) {
	s := oddSource{version: "10", listed: []runtime.Object{inState("a", 5, "1")}, happens: []func(*oddPlay){
		sends(watch.Modified, inState("a", 7, "2")), breaks,
	}}
	if log := s.play(t, oursOf); !slices.Contains(log, "watches from [10 10]") {
		t.Errorf("%q", log)
	}
}
