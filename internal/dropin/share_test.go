package dropin_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/metadatainformer"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// bench is a server whose watches of config maps are counted, and the ways to
// have an informer of them.
type bench struct {
	t       *testing.T
	server  *apisim.Server
	watches atomic.Int32
}

func newBench(t *testing.T) *bench {
	t.Helper()
	goleak.VerifyNone(t)
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, server: server}
	server.Inject(apisim.Fault{Match: apisim.Match{Verb: "watch", Resource: "configmaps", Func: func(*http.Request) bool {
		b.watches.Add(1)
		return false // only to count
	}}})
	b.put("first", "web")
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t)
	})
	return b
}

func (b *bench) put(name, app string) {
	b.t.Helper()
	client := kubernetes.NewForConfigOrDie(b.server.Config())
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}, Data: map[string]string{"a": "b"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(b.t.Context(), cm, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// user returns a configuration with an HTTP client of its own.
func (b *bench) user(name string) (*rest.Config, *http.Client) {
	b.t.Helper()
	cfg := b.server.Config()
	cfg.Impersonate.UserName = name
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return cfg, client
}

func selecting(labels string) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) { o.LabelSelector = labels }
}

func (b *bench) typed(cfg *rest.Config, h *http.Client, tweak func(*metav1.ListOptions)) cache.SharedIndexInformer {
	client, err := kubernetes.NewForConfigAndClient(cfg, h)
	if err != nil {
		b.t.Fatal(err)
	}
	return informers.NewFilteredSharedInformerFactory(client, 0, "", tweak).Core().V1().ConfigMaps().Informer()
}

func (b *bench) dynamic(cfg *rest.Config, h *http.Client, tweak func(*metav1.ListOptions)) cache.SharedIndexInformer {
	client, err := dynamic.NewForConfigAndClient(cfg, h)
	if err != nil {
		b.t.Fatal(err)
	}
	return dynamicinformer.NewFilteredDynamicInformer(client, configMaps, "", 0, cache.Indexers{}, tweak).Informer()
}

func (b *bench) metadata(cfg *rest.Config, h *http.Client, tweak func(*metav1.ListOptions)) cache.SharedIndexInformer {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), h)
	if err != nil {
		b.t.Fatal(err)
	}
	return metadatainformer.NewFilteredMetadataInformer(client, configMaps, "", 0, cache.Indexers{}, tweak).Informer()
}

// run runs an informer, waits for its sync, and returns what stops it.
func (b *bench) run(inf cache.SharedIndexInformer) (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		inf.RunWithContext(ctx)
	}()
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		b.t.Fatal("not synced")
	}
	return func() { cancel(); <-ended }
}

// wantWatches puts an object and waits until each informer has it, by which time
// each has its watch; and counts those.
func (b *bench) wantWatches(want int32, name string, infs ...cache.SharedIndexInformer) {
	b.t.Helper()
	var told []chan struct{}
	for _, inf := range infs {
		ch := make(chan struct{})
		told = append(told, ch)
		if _, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			if o := obj.(metav1.Object); o.GetName() == name {
				close(ch)
			}
		}}); err != nil {
			b.t.Fatal(err)
		}
	}
	b.put(name, "web")
	for _, ch := range told {
		select {
		case <-ch:
		case <-b.t.Context().Done():
			b.t.Fatal("not told")
		}
	}
	if got := b.watches.Load(); got != want {
		b.t.Errorf("%d watches, want %d", got, want)
	}
}

func TestThreeWaysToReadShareOneWatch(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	typed := b.typed(cfg, h, selecting("app in (web),!old"))
	untyped := b.dynamic(cfg, h, selecting("!old,app in (web)")) // the same, in other words
	meta := b.metadata(cfg, h, selecting("app in (web),!old"))
	stopTyped, stopUntyped, stopMeta := b.run(typed), b.run(untyped), b.run(meta)
	b.wantWatches(1, "second", typed, untyped, meta)

	obj, _, _ := typed.GetIndexer().GetByKey("default/second")
	if cm, ok := obj.(*corev1.ConfigMap); !ok || cm.Data["a"] != "b" || cm.Kind != "" {
		t.Errorf("the typed informer has %#v", obj)
	}
	obj, _, _ = untyped.GetIndexer().GetByKey("default/first")
	if u, ok := obj.(*unstructured.Unstructured); !ok || u.GetKind() != "ConfigMap" || u.GetAPIVersion() != "v1" {
		t.Errorf("the dynamic informer has %#v", obj)
	}
	obj, _, _ = meta.GetIndexer().GetByKey("default/second")
	if m, ok := obj.(*metav1.PartialObjectMetadata); !ok || m.Labels["app"] != "web" {
		t.Errorf("the metadata informer has %#v", obj)
	}

	stopUntyped()
	b.wantWatches(1, "third", typed, meta)
	if !untyped.IsStopped() || typed.IsStopped() {
		t.Error("stopping one informer is not the business of the others")
	}
	stopTyped()
	stopMeta()
}

func TestOtherUsersAndSelectionsDoNotShare(t *testing.T) {
	b := newBench(t)
	alice, aliceClient := b.user("alice")
	bob, bobClient := b.user("bob")
	all := []cache.SharedIndexInformer{
		b.typed(alice, aliceClient, nil),
		b.typed(bob, bobClient, nil),
		b.typed(alice, aliceClient, selecting("app=web")),
		b.typed(alice, aliceClient, func(o *metav1.ListOptions) { o.Limit = 1 }),
	}
	for _, inf := range all {
		defer b.run(inf)()
	}
	b.wantWatches(4, "second", all...)
}

func TestIndexesAndStoresOfOneWatchAreEachInformersOwn(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	one, two := b.typed(cfg, h, nil), b.typed(cfg, h, nil)
	for inf, value := range map[cache.SharedIndexInformer]string{one: "one", two: "two"} {
		if err := inf.AddIndexers(cache.Indexers{"mine": func(any) ([]string, error) { return []string{value}, nil }}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.GetIndexer().Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "by-hand"}}); err != nil {
		t.Fatal(err)
	}
	if _, there, _ := two.GetIndexer().GetByKey("default/by-hand"); there {
		t.Error("what was put into one store is in the other")
	}
	defer b.run(one)()
	if two.HasSynced() || len(two.GetIndexer().List()) > 0 || two.LastSyncResourceVersion() != "" {
		t.Error("an informer that does not run knows what another has seen")
	}
	defer b.run(two)()
	b.wantWatches(1, "second", one, two)
	for inf, value := range map[cache.SharedIndexInformer]string{one: "one", two: "two"} {
		if found, err := inf.GetIndexer().ByIndex("mine", value); err != nil || len(found) != 2 {
			t.Errorf("index has %d under %q, %v", len(found), value, err)
		}
		if values := inf.GetIndexer().ListIndexFuncValues("mine"); len(values) != 1 || values[0] != value {
			t.Errorf("index has values %v, want %q", values, value)
		}
	}
}

// growing returns an informer that shares a watch which grows.
func (b *bench) growing(cfg *rest.Config, h *http.Client, needs dropin.Needs, decode dropin.Decoder, example runtime.Object) cache.SharedIndexInformer {
	b.t.Helper()
	client, err := kube.NewClientOn(cfg, h)
	if err != nil {
		b.t.Fatal(err)
	}
	lw := dropin.Bytes(nil, client, kube.Query{Resource: configMaps}, needs, decode)
	lw.Share, lw.Grows = lw.Share.Variant("grows"), true
	return cache.NewSharedIndexInformer(lw, example, 0, cache.Indexers{})
}

func TestAWatchGrowsWithItsReaders(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	meta := b.growing(cfg, h, dropin.Metadata, dropin.DecodeMetadata, &metav1.PartialObjectMetadata{})
	heard := make(chan string, 100)
	if _, err := meta.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { heard <- obj.(metav1.Object).GetName() },
		UpdateFunc: func(any, any) { heard <- "an update" },
		DeleteFunc: func(any) { heard <- "a deletion" },
	}); err != nil {
		t.Fatal(err)
	}
	defer b.run(meta)()
	b.wantWatches(1, "second", meta)
	typed := b.growing(cfg, h, dropin.Anything, dropin.DecodeTyped(&corev1.ConfigMap{}), &corev1.ConfigMap{})
	defer b.run(typed)()
	b.wantWatches(2, "third", meta, typed)
	untyped := b.growing(cfg, h, dropin.JSON, dropin.DecodeUnstructured, &unstructured.Unstructured{})
	defer b.run(untyped)()
	b.wantWatches(3, "fourth", meta, typed, untyped)
	again := b.growing(cfg, h, dropin.Metadata, dropin.DecodeMetadata, &metav1.PartialObjectMetadata{})
	defer b.run(again)()
	b.wantWatches(3, "fifth", meta, typed, untyped, again)

	// Each object was added once, whatever it is held as since.
	for _, want := range []string{"first", "second", "third", "fourth", "fifth"} {
		if got := <-heard; got != want {
			t.Errorf("the first handler heard of %s, want %s", got, want)
		}
	}
	if obj, _, _ := typed.GetIndexer().GetByKey("default/first"); obj == nil || obj.(*corev1.ConfigMap).Data["a"] != "b" {
		t.Errorf("the typed informer has %v", obj)
	}
}

// TestGrowthDecodesNothing: what is only held otherwise is not decoded for handlers that
// are not called.
func TestGrowthDecodesNothing(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	var decoded atomic.Int32
	decode := dropin.DecodeTyped(&corev1.ConfigMap{})
	counting := func(r *engine.Record, near engine.Neighbour, kinds engine.Kinds) (any, error) {
		decoded.Add(1)
		return decode(r, near, kinds)
	}
	typed := b.growing(cfg, h, dropin.Anything, counting, &corev1.ConfigMap{})
	heard := make(chan string, 100)
	if _, err := typed.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { heard <- obj.(metav1.Object).GetName() },
		UpdateFunc: func(any, any) { heard <- "an update" },
	}); err != nil {
		t.Fatal(err)
	}
	defer b.run(typed)()
	b.wantWatches(1, "second", typed)
	<-heard
	<-heard
	before := decoded.Load()
	defer b.run(b.growing(cfg, h, dropin.JSON, dropin.DecodeUnstructured, &unstructured.Unstructured{}))()
	b.put("third", "web")
	if got := <-heard; got != "third" {
		t.Errorf("the handler heard of %s", got)
	}
	if n := decoded.Load() - before; n != 1 {
		t.Errorf("%d states were decoded for one that is new", n)
	}
}
