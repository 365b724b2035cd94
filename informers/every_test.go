package informers_test

import (
	"fmt"
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/informers/internal/kinds"
	"github.com/kinform/kinform/internal/dropin/dropintest"
)

// filler fills objects with values of a seed.
type filler struct {
	fuzz interface{ Fill(any) }
}

func newFiller(seed int64) filler {
	return filler{fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs)}
}

// object returns a filled object of a kind.
func (f filler) object(k kinds.Kind, name string) runtime.Object {
	obj := k.Example.DeepCopyObject()
	f.fuzz.Fill(obj)
	obj.GetObjectKind().SetGroupVersionKind(gvkOf(obj))
	filled := metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}, Finalizers: []string{"example.com/none"}}
	if k.Namespaced {
		filled.Namespace = "default"
	}
	*obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta) = filled
	return obj
}

// served reports whether apisim keeps objects of a kind and lets them be watched.
func served(k kinds.Kind, lists []*metav1.APIResourceList) bool {
	for _, l := range lists {
		if l.GroupVersion != k.Resource.GroupVersion().String() {
			continue
		}
		return slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool {
			return r.Name == k.Resource.Resource && slices.Contains(r.Verbs, "watch")
		})
	}
	return false
}

// TestEveryKindEqualsClientGo: objects that were listed and objects that were
// watched, of every kind that the server has, filled with all sorts of values,
// are field by field what client-go's informers give, whether the server speaks
// protobuf or only JSON.
func TestEveryKindEqualsClientGo(t *testing.T) {
	t.Run("protobuf", func(t *testing.T) { everyKind(t, func(*rest.Config) {}) })
	t.Run("JSON", func(t *testing.T) {
		everyKind(t, func(c *rest.Config) {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper { return onlyJSON{next} })
		})
	})
}

// onlyJSON is a way to a server that has nothing else.
type onlyJSON struct{ http.RoundTripper }

func (o onlyJSON) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	return o.RoundTripper.RoundTrip(r)
}

func everyKind(t *testing.T, change func(*rest.Config)) {
	server := dropintest.Server(t)
	config := server.Config()
	change(config)
	client := connect(t, config)
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(kinds.All(), func(k kinds.Kind) bool { return !served(k, lists) })
	if len(all) < 60 {
		t.Fatalf("the server has %d of the %d kinds", len(all), len(kinds.All()))
	}
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	fill := newFiller(seed)
	load(t, server, fill, all, "listed")

	theirs := clientgo.NewSharedInformerFactory(client, 0)
	ours := informers.NewSharedInformerFactory(client, 0)
	for _, k := range all {
		for _, f := range []informers.SharedInformerFactory{theirs, ours} {
			if _, err := f.ForResource(k.Resource); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx := start(t, theirs, ours)
	for _, f := range []informers.SharedInformerFactory{theirs, ours} {
		if result := f.WaitForCacheSyncWithContext(ctx); result.Err != nil || len(result.Synced) != len(all) {
			t.Fatalf("synced: %v", result)
		}
	}
	load(t, server, fill, all, "watched")
	meta, err := metadata.NewForConfigAndClient(server.Config(), dropintest.HTTP(t, server.Config()))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		t.Run(fmt.Sprintf("%s.%s.%s", k.Resource.Resource, k.Resource.Version, k.Resource.Group), func(t *testing.T) {
			their, _ := theirs.ForResource(k.Resource)
			our, _ := ours.ForResource(k.Resource)
			there, err := meta.Resource(k.Resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []clientgo.GenericInformer{their, our} {
				dropintest.Await(t, f.Informer(), "all that the server has", dropintest.Count(len(there.Items)))
			}
			dropintest.Compare(t, their.Informer().GetIndexer(), our.Informer().GetIndexer())
		})
	}
}

// nameIn gives the objects of each kind other names: servers keep all versions of
// a kind, and the events of two groups, in one place.
func nameIn(k kinds.Kind, name string) string {
	group, _, _ := strings.Cut(k.Resource.Group, ".")
	return strings.TrimSuffix(name+"-"+k.Resource.Version+"-"+group, "-")
}

// load creates an object of each kind.
func load(t *testing.T, server *apisim.Server, fill filler, all []kinds.Kind, name string) {
	t.Helper()
	err := server.Load(func(yield func(runtime.Object) bool) {
		for _, k := range all {
			if !yield(fill.object(k, nameIn(k, name))) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryKindThroughFakeClientset: each kind syncs, and hears of what is
// created afterwards.
func TestEveryKindThroughFakeClientset(t *testing.T) {
	fill := newFiller(1)
	all := kinds.All()
	var there []runtime.Object
	for _, k := range all {
		there = append(there, fill.object(k, "listed"))
	}
	client := fake.NewClientset(there...)
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, k := range all {
		if _, err := factory.ForResource(k.Resource); err != nil {
			t.Fatal(err)
		}
	}
	ctx := start(t, factory)
	if result := factory.WaitForCacheSyncWithContext(ctx); result.Err != nil || len(result.Synced) != len(all) {
		t.Fatalf("synced: %v", result)
	}
	for _, k := range all {
		generic, _ := factory.ForResource(k.Resource)
		dropintest.Await(t, generic.Informer(), k.Resource.String(), dropintest.Count(1))
	}
}
