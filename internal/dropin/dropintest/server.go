package dropintest

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// Server starts an API server that ends with the test.
func Server(t testing.TB) *apisim.Server {
	t.Helper()
	s, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// HTTP returns an HTTP client for a server, whose connections end with the test.
func HTTP(t testing.TB, config *rest.Config) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return client
}

// Resources are what Load fills: with and without a namespace, with and without a
// Go type.
var Resources = []schema.GroupVersionResource{
	corev1.SchemeGroupVersion.WithResource("pods"),
	corev1.SchemeGroupVersion.WithResource("nodes"),
	objects.CustomResource,
}

// Load creates n more objects of each of Resources, from the one numbered from.
func Load(t testing.TB, server *apisim.Server, from, n int) {
	t.Helper()
	g := objects.New(objects.Options{Seed: 4})
	all := []runtime.Object{}
	if from == 0 {
		all = append(all, objects.CustomResourceDefinition())
	}
	for _, o := range slices.Collect(g.Pods(from + n))[from:] {
		all = append(all, o)
	}
	for _, o := range slices.Collect(g.Nodes(from + n))[from:] {
		all = append(all, o)
	}
	for _, o := range slices.Collect(g.CustomResources(from + n))[from:] {
		all = append(all, o)
	}
	if err := server.Load(slices.Values(all)); err != nil {
		t.Fatal(err)
	}
}

// Factory is what factories by resource have in common.
type Factory interface {
	Start(<-chan struct{})
	ForResource(schema.GroupVersionResource) informers.GenericInformer
	WaitForCacheSync(<-chan struct{}) map[schema.GroupVersionResource]bool
	Shutdown()
}

// SideBySide runs informers of all Resources of two factories on one server, loads
// it before and after they have synced, and compares.
func SideBySide(t *testing.T, server *apisim.Server, theirs, ours Factory) {
	t.Helper()
	Load(t, server, 0, 20)
	ctx := run(t, theirs, ours)
	for _, f := range []Factory{theirs, ours} {
		synced := f.WaitForCacheSync(ctx.Done())
		for _, r := range Resources {
			if !synced[r] {
				t.Fatalf("not synced: %v", r)
			}
		}
	}
	Load(t, server, 20, 20)
	for _, r := range Resources {
		t.Run(r.Resource, func(t *testing.T) {
			Same(t, theirs.ForResource(r).Informer(), ours.ForResource(r).Informer(), 40)
			compareListers(t, theirs.ForResource(r), ours.ForResource(r))
		})
	}
}

// run asks factories for Resources and starts them; they are shut down with the
// test.
func run(t *testing.T, factories ...Factory) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	for _, f := range factories {
		for _, r := range Resources {
			f.ForResource(r)
		}
		f.Start(ctx.Done())
		f.Start(ctx.Done())
	}
	t.Cleanup(func() {
		cancel()
		for _, f := range factories {
			f.Shutdown()
		}
	})
	return ctx
}

// compareListers compares what two listers give for the first object.
func compareListers(t *testing.T, theirs, ours informers.GenericInformer) {
	t.Helper()
	obj := theirs.Informer().GetIndexer().List()[0].(metav1.Object)
	get := func(g informers.GenericInformer) (runtime.Object, error) {
		if obj.GetNamespace() == "" {
			return g.Lister().Get(obj.GetName())
		}
		return g.Lister().ByNamespace(obj.GetNamespace()).Get(obj.GetName())
	}
	want, _ := get(theirs)
	got, err := get(ours)
	if err != nil {
		t.Errorf("kinform's lister gives an error: %v", err)
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the listers differ: - client-go, + kinform:\n%s", diff)
	}
}
