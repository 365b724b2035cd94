package dynamicinformer_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientgo "k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/internal/dropin/dropintest"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

func connect(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfigAndClient(dynamic.ConfigFor(config), dropintest.HTTP(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestEqualsClientGo: objects that were listed and objects that were watched are
// what client-go's informers give.
func TestEqualsClientGo(t *testing.T) {
	server := dropintest.Server(t)
	client := connect(t, server.Config())
	dropintest.SideBySide(t, server, clientgo.NewDynamicSharedInformerFactory(client, 0), dynamicinformer.NewDynamicSharedInformerFactory(client, 0))
}

// TestNarrowed: a namespace and a tweak narrow as client-go's do.
func TestNarrowed(t *testing.T) {
	server := dropintest.Server(t)
	client := connect(t, server.Config())
	dropintest.Load(t, server, 0, 40)
	theirs := clientgo.NewFilteredDynamicSharedInformerFactory(client, 0, "", func(o *metav1.ListOptions) { o.Limit = 7 })
	their := theirs.ForResource(pods).Informer()
	defer running(t, theirs)()
	dropintest.Await(t, their, "all pods", dropintest.Count(40))
	first := their.GetIndexer().ListIndexFuncValues(cache.NamespaceIndex)[0]
	inFirst, err := their.GetIndexer().IndexKeys(cache.NamespaceIndex, first)
	if err != nil {
		t.Fatal(err)
	}
	ours := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, first, func(o *metav1.ListOptions) { o.Limit = 7 })
	our := ours.ForResource(pods).Informer()
	defer running(t, ours)()
	dropintest.Await(t, our, "the pods of one namespace", dropintest.Count(len(inFirst)))
}

// running starts a factory and returns what ends it.
func running(t *testing.T, f dropintest.Factory) func() {
	ctx, cancel := context.WithCancel(t.Context())
	f.Start(ctx.Done())
	return func() {
		cancel()
		f.Shutdown()
	}
}

// TestStory: late requests run at the next start, each informer once, none after
// Shutdown, and a wait that is given up says so.
func TestStory(t *testing.T) {
	server := dropintest.Server(t)
	dropintest.Load(t, server, 0, 1)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(connect(t, server.Config()), 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if factory.ForResource(pods).Informer() != factory.ForResource(pods).Informer() {
		t.Error("two informers of one resource")
	}
	factory.Start(ctx.Done())
	if got := factory.WaitForCacheSync(ctx.Done()); len(got) != 1 || !got[pods] {
		t.Errorf("synced: %v", got)
	}
	unknown := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	factory.ForResource(unknown)
	if got := factory.WaitForCacheSync(ctx.Done()); len(got) != 1 {
		t.Errorf("a late informer runs before it was started: %v", got)
	}
	factory.Start(ctx.Done())
	given, giveUp := context.WithCancel(ctx)
	giveUp()
	if got := factory.WaitForCacheSync(given.Done()); len(got) != 2 || got[unknown] || !got[pods] {
		t.Errorf("synced: %v", got)
	}
	informer := factory.ForResource(pods).Informer()
	cancel()
	factory.Shutdown()
	if !informer.IsStopped() {
		t.Error("Shutdown returned before an informer had stopped")
	}
	factory.ForResource(corev1.SchemeGroupVersion.WithResource("secrets"))
	factory.Start(t.Context().Done())
	factory.Shutdown()
	if got := factory.WaitForCacheSync(ctx.Done()); len(got) != 2 {
		t.Errorf("an informer was started after Shutdown: %v", got)
	}
}

// TestClientThatCannotBeUsed: a store can be filled and listed without a client.
func TestClientThatCannotBeUsed(t *testing.T) {
	g := dynamicinformer.NewFilteredDynamicInformer(nil, pods, "", 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil)
	if err := g.Informer().GetIndexer().Add(object("default", "by-hand")); err != nil {
		t.Fatal(err)
	}
	if got, err := g.Lister().ByNamespace("default").Get("by-hand"); err != nil || got == nil {
		t.Errorf("the lister gives %v, %v", got, err)
	}
}
