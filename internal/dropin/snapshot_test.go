package dropin_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/metadatainformer"
)

// kept is an informer with a snapshot, and how often it may list.
type kept struct {
	name     string
	informer func(*testing.T, *rest.Config, *http.Client, kinform.SnapshotOptions) cache.SharedIndexInformer
}

// marking shows in each object that it went through the transform.
func marking(obj any) (any, error) {
	o := obj.(metav1.Object)
	o.SetAnnotations(map[string]string{"seen": "once" + o.GetAnnotations()["seen"]})
	return obj, nil
}

func allKept() []kept {
	return []kept{
		{"typed", func(t *testing.T, cfg *rest.Config, h *http.Client, o kinform.SnapshotOptions) cache.SharedIndexInformer {
			client, err := kubernetes.NewForConfigAndClient(cfg, h)
			must(t, err)
			f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithSnapshot(o), informers.WithTransform(marking))
			return f.Core().V1().ConfigMaps().Informer()
		}},
		{"dynamic", func(t *testing.T, cfg *rest.Config, h *http.Client, o kinform.SnapshotOptions) cache.SharedIndexInformer {
			client, err := dynamic.NewForConfigAndClient(cfg, h)
			must(t, err)
			f := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
			must(t, dynamicinformer.SetSnapshot(f, o))
			inf := f.ForResource(configMaps).Informer()
			must(t, inf.SetTransform(marking))
			return inf
		}},
		{"metadata", func(t *testing.T, cfg *rest.Config, h *http.Client, o kinform.SnapshotOptions) cache.SharedIndexInformer {
			client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), h)
			must(t, err)
			f := metadatainformer.NewSharedInformerFactoryWithOptions(client, 0, metadatainformer.WithSnapshot(o), metadatainformer.WithTransform(marking))
			return f.ForResource(configMaps).Informer()
		}},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// heard is what a handler was called with; "" ends it.
func hears(t *testing.T, inf cache.SharedIndexInformer) <-chan string {
	t.Helper()
	ch := make(chan string, 100)
	_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { ch <- "added " + obj.(metav1.Object).GetName() },
		UpdateFunc: func(_, obj any) { ch <- "updated " + obj.(metav1.Object).GetName() },
		DeleteFunc: func(obj any) { ch <- "deleted " + obj.(metav1.Object).GetName() },
	})
	must(t, err)
	return ch
}

// expect takes as many calls as are wanted, in any order.
func expect(t *testing.T, ch <-chan string, want ...string) {
	t.Helper()
	got, wanted := map[string]bool{}, map[string]bool{}
	for _, w := range want {
		wanted[w] = true
		got[<-ch] = true
	}
	if !maps.Equal(got, wanted) {
		t.Errorf("the handler heard %v, want %v", got, want)
	}
}

// lists counts the lists of config maps, but for those that ask for one name.
func (b *bench) lists() *atomic.Int32 {
	var n atomic.Int32
	b.server.Inject(apisim.Fault{Match: apisim.Match{Verb: "list", Resource: "configmaps", Func: func(r *http.Request) bool {
		if !strings.Contains(r.URL.Query().Get("fieldSelector"), "metadata.name=") {
			n.Add(1)
		}
		return false // only to count
	}}})
	return &n
}

// TestDropInsStartFromDisk: informers of all factories resume without a list, call their
// handlers for each object, and transform what the disk has, once.
func TestDropInsStartFromDisk(t *testing.T) {
	for _, k := range allKept() {
		t.Run(k.name, func(t *testing.T) {
			b := newBench(t)
			cfg, h := b.user("alice")
			o := kinform.SnapshotOptions{Dir: t.TempDir(), Every: time.Millisecond}
			b.put("second", "web")
			b.run(k.informer(t, cfg, h, o))()
			b.put("third", "web")
			lists := b.lists()
			inf := k.informer(t, cfg, h, o)
			ch := hears(t, inf)
			stop := b.run(inf)
			expect(t, ch, "added first", "added second", "added third")
			obj, _, err := inf.GetIndexer().GetByKey("default/first")
			if err != nil || obj == nil || obj.(metav1.Object).GetAnnotations()["seen"] != "once" {
				t.Errorf("the store has %v, %v", obj, err)
			}
			st := inf.GetController().(dropin.Health).Health()[0].Snapshot
			if n := lists.Load(); n != 0 || st.SetAside != nil || st.Restored != 2 || st.Unconfirmed {
				t.Errorf("%d lists, %+v", n, st)
			}
			b.put("fourth", "web")
			expect(t, ch, "added fourth")
			stop()
			// And only what has changed, where that is asked for.
			b.put("fifth", "web")
			o.OnlyChanges = true
			inf = k.informer(t, cfg, h, o)
			ch = hears(t, inf)
			defer b.run(inf)()
			expect(t, ch, "added fifth")
			if n := lists.Load(); n != 0 || len(inf.GetIndexer().List()) != 5 {
				t.Errorf("%d lists, %d objects", n, len(inf.GetIndexer().List()))
			}
		})
	}
}

// TestSnapshotsOfScopes: what is read in a scope that has changed is kept, and served to the
// next process in that scope, and to no other.
func TestSnapshotsOfScopes(t *testing.T) {
	for _, k := range allKept() {
		t.Run(k.name, func(t *testing.T) {
			b := newBench(t)
			cfg, h := b.user("alice")
			o := kinform.SnapshotOptions{Dir: t.TempDir(), Every: time.Millisecond}
			narrow := kinform.Scope{Namespaces: []string{"default"}, LabelSelector: "!none"}
			b.put("second", "web")
			inf := k.informer(t, cfg, h, o)
			stop := b.run(inf)
			must(t, cache.SetScope(inf, narrow))
			must(t, cache.WaitForScope(t.Context(), inf))
			if err := cache.SetSnapshot(inf, o); err == nil {
				t.Error("a running informer got a snapshot")
			}
			stop()
			lists := b.lists()
			for _, again := range []struct {
				kinform.Scope
				lists int32
			}{{narrow, 0}, {kinform.Scope{Namespaces: []string{"default"}}, 1}, {narrow, 0}} {
				lists.Store(0)
				inf = k.informer(t, cfg, h, o)
				must(t, cache.SetScope(inf, again.Scope))
				if err := cache.SetSnapshot(inf, o); err == nil || !strings.Contains(err.Error(), "first") {
					t.Errorf("a snapshot after the scope: %v", err)
				}
				stop := b.run(inf)
				must(t, cache.WaitForScope(t.Context(), inf))
				st := inf.GetController().(dropin.Health).Health()[0].Snapshot
				if n := len(inf.GetStore().List()); n != 2 || lists.Load() != again.lists || (st.Restored == 2) != (again.lists == 0) {
					t.Errorf("%s: %d objects, %d lists, %+v", again.Scope, n, lists.Load(), st)
				}
				stop()
			}
		})
	}
}

// TestReadBeforeConfirmed: without a server the store shows what the disk had, the informer
// has not synced, and no handler is called.
func TestReadBeforeConfirmed(t *testing.T) {
	for _, k := range allKept() {
		t.Run(k.name, func(t *testing.T) {
			b := newBench(t)
			cfg, h := b.user("alice")
			o := kinform.SnapshotOptions{Dir: t.TempDir(), Every: time.Millisecond}
			b.run(k.informer(t, cfg, h, o))()
			b.server.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: http.StatusServiceUnavailable})
			inf := k.informer(t, cfg, h, o)
			ch := hears(t, inf)
			failed := make(chan struct{}, 100)
			must(t, inf.SetWatchErrorHandler(func(*cache.Reflector, error) { failed <- struct{}{} }))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); inf.RunWithContext(ctx) }()
			<-failed
			if n := len(inf.GetStore().ListKeys()); n != 1 || inf.HasSynced() || len(ch) != 0 {
				t.Errorf("%d objects, synced %v, %d calls", n, inf.HasSynced(), len(ch))
			}
			cancel()
			<-ended
		})
	}
}

// TestSnapshotOfAWatchThatGrew: what was kept for a reader of JSON serves one of metadata;
// what was kept for that one does not serve a reader of whole objects.
func TestSnapshotOfAWatchThatGrew(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	o := kinform.SnapshotOptions{Dir: t.TempDir(), Every: time.Millisecond}
	meta := func() cache.SharedIndexInformer {
		inf := b.growing(cfg, h, dropin.Metadata, dropin.DecodeMetadata, &metav1.PartialObjectMetadata{})
		must(t, cache.SetSnapshot(inf, o))
		return inf
	}
	untyped := func() cache.SharedIndexInformer {
		inf := b.growing(cfg, h, dropin.JSON, dropin.DecodeUnstructured, &unstructured.Unstructured{})
		must(t, cache.SetSnapshot(inf, o))
		return inf
	}
	one := meta()
	stop := b.run(one)
	two := untyped()
	stopTwo := b.run(two)
	b.put("second", "web")
	stopTwo()
	stop()
	lists := b.lists()

	one, two = meta(), untyped()
	stop = b.run(one)
	stopTwo = b.run(two)
	obj, _, _ := two.GetIndexer().GetByKey("default/first")
	if u, ok := obj.(*unstructured.Unstructured); !ok || u.Object["data"] == nil {
		t.Errorf("the dynamic informer has %v", obj)
	}
	if st := one.GetController().(dropin.Health).Health()[0].Snapshot; lists.Load() != 0 || st.SetAside != nil {
		t.Errorf("%d lists, %+v", lists.Load(), st)
	}
	stopTwo()
	stop()

	o.Dir = t.TempDir()
	b.run(meta())()
	two = untyped()
	defer b.run(two)()
	if st := two.GetController().(dropin.Health).Health()[0].Snapshot; st.SetAside == nil || st.Restored != 0 {
		t.Errorf("metadata was taken for whole objects: %+v", st)
	}
	obj, _, _ = two.GetIndexer().GetByKey("default/first")
	if u, ok := obj.(*unstructured.Unstructured); !ok || u.Object["data"] == nil {
		t.Errorf("then the dynamic informer has %v", obj)
	}
}

// TestNoSnapshot: what cannot be kept is an error that says why.
func TestNoSnapshot(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	o := kinform.SnapshotOptions{Dir: t.TempDir()}
	fakes := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().ConfigMaps().Informer()
	limited := b.typed(cfg, h, func(o *metav1.ListOptions) { o.Limit = 1 })
	short := o
	short.Key = []byte("short")
	for _, c := range []struct {
		informer cache.SharedIndexInformer
		options  kinform.SnapshotOptions
		want     string
	}{
		{fakes, o, "gets objects"}, {limited, o, "tweaked"},
		{b.typed(cfg, h, nil), kinform.SnapshotOptions{}, "folder"}, {b.typed(cfg, h, nil), short, "32"},
	} {
		if err := cache.SetSnapshot(c.informer, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want one of %q", err, c.want)
		}
	}
	defer b.run(limited)() // it works as before
}
