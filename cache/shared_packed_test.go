package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
)

// oursPacked is kinform on a source of objects that look like a server's: it holds them
// as bytes.
var oursPacked = side{"kinform, packing objects", packingObjects, cache.WaitForCacheSync}

func packingObjects(lw cache.ListerWatcher, example runtime.Object, o cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	lw.(*server).identifies = true
	return cache.NewSharedIndexInformerWithOptions(lw, example, o)
}

// source is a ListerWatcher of any objects.
type source struct {
	version string
	objects []runtime.Object
	watches chan *watch.FakeWatcher
}

func newSource(version string, objects ...runtime.Object) *source {
	return &source{version: version, objects: objects, watches: make(chan *watch.FakeWatcher, 100)}
}

// anyList is a list of any objects.
type anyList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

func (l *anyList) DeepCopyObject() runtime.Object { panic("nobody needs a copy") }

func (s *source) List(metav1.ListOptions) (runtime.Object, error) {
	return &anyList{ListMeta: metav1.ListMeta{ResourceVersion: s.version}, Items: s.objects}, nil
}

func (s *source) Watch(metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewFakeWithChanSize(5000, false)
	s.watches <- w
	return w, nil
}

// relist has an informer list the source again.
func (s *source) relist(version string, objects ...runtime.Object) {
	s.version, s.objects = version, objects
	gone := expired().(apierrors.APIStatus).Status()
	(<-s.watches).Error(&gone)
	time.Sleep(time.Minute)
	synctest.Wait()
}

// runningInformer is an informer that runs, in a bubble.
type runningInformer struct {
	cache.SharedIndexInformer
	t       *testing.T
	records dropin.Records
}

// start runs an informer, after prepare, and stops it at the end of the test.
func start(t *testing.T, lw cache.ListerWatcher, example runtime.Object, prepare func(cache.SharedIndexInformer)) runningInformer {
	t.Helper()
	i := cache.NewSharedIndexInformer(lw, example, 0, cache.Indexers{"name": func(obj any) ([]string, error) {
		o, err := meta.Accessor(obj)
		return []string{o.GetName()}, err
	}})
	if prepare != nil {
		prepare(i)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	synctest.Wait()
	if !i.HasSynced() {
		t.Fatal("not synced")
	}
	return runningInformer{i, t, i.GetIndexer().(dropin.Records)}
}

// isPacked reports whether an object is held as bytes.
func (s runningInformer) isPacked(key string) bool {
	s.t.Helper()
	r := s.records.Record(key)
	if r == nil {
		s.t.Fatalf("%s is not in the store", key)
	}
	return r.Object() == nil
}

func (s runningInformer) get(key string) any {
	s.t.Helper()
	obj, ok, err := s.GetStore().GetByKey(key)
	if !ok || err != nil {
		s.t.Fatalf("%s: %t, %v", key, ok, err)
	}
	return obj
}

// evicts is long enough for all that nobody reads to be evicted, and too short for a
// silent watch to be replaced.
const evicts = 2 * time.Minute

// calls is a handler that keeps what it is given.
type calls struct {
	added, updated, old, deleted []any
	during                       func()
}

func (c *calls) handler() cache.ResourceEventHandler {
	note := func(to *[]any, obj any) {
		if c.during != nil {
			c.during()
		}
		*to = append(*to, obj)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { note(&c.added, obj) },
		UpdateFunc: func(old, obj any) { c.old = append(c.old, old); note(&c.updated, obj) },
		DeleteFunc: func(obj any) { note(&c.deleted, obj) },
	}
}

func (c *calls) join(i cache.SharedIndexInformer) {
	if _, err := i.AddEventHandler(c.handler()); err != nil {
		panic(err)
	}
}

// sentPod is a pod as clients make it of what a server sends.
func sentPod(name string, version int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := pod(name, version, "app", "web")
	p.UID = "5a0a3d5c-5b0e-4b0e-9c0e-000000000001"
	p.CreationTimestamp = metav1.Unix(1e9, 0)
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "image"}}
	for _, f := range change {
		f(p)
	}
	return p
}

// widget is a custom resource of the program's own.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Parts             []string `json:"parts,omitempty"`
	Panics            bad      `json:"panics,omitempty"`
	hidden            int
}

func (w *widget) DeepCopyObject() runtime.Object { c := *w; return &c }

// bad panics when it is written.
type bad bool

func (bad) MarshalJSON() ([]byte, error) { panic("it is written") }

func newWidget(change func(*widget)) *widget {
	w := &widget{ObjectMeta: sentPod("a", 5).ObjectMeta}
	change(w)
	return w
}
