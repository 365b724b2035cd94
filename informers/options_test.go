package informers_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
)

// queries notes what is asked of a server for config maps.
type queries struct {
	mu  sync.Mutex
	all []*http.Request
}

func (q *queries) watch(server *apisim.Server) {
	server.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps", Func: func(r *http.Request) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.all = append(q.all, r)
		return false // only to look
	}}})
}

// parameters returns the values of a parameter in the lists, or in the watches.
func (q *queries) parameters(name string, ofWatches bool) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var values []string
	for _, r := range q.all {
		if query := r.URL.Query(); r.Method == http.MethodGet && (query.Get("watch") != "") == ofWatches {
			values = append(values, query.Get(name))
		}
	}
	return values
}

// TestOptionsNarrow: each way to narrow a factory gives what client-go's gives.
func TestOptionsNarrow(t *testing.T) {
	tests := []struct {
		name    string
		options func() ([]clientgo.SharedInformerOption, []informers.SharedInformerOption)
		want    int // config maps
	}{
		{"nothing", func() ([]clientgo.SharedInformerOption, []informers.SharedInformerOption) { return nil, nil }, 4},
		{"a namespace", func() ([]clientgo.SharedInformerOption, []informers.SharedInformerOption) {
			return []clientgo.SharedInformerOption{clientgo.WithNamespace("other")},
				[]informers.SharedInformerOption{informers.WithNamespace("other")}
		}, 2},
		{"labels", tweaked(func(o *metav1.ListOptions) { o.LabelSelector = "app=web" }), 2},
		{"fields", tweaked(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=first" }), 2},
		{"pages", tweaked(func(o *metav1.ListOptions) { o.Limit = 1 }), 4},
		{"a consistent read in pages", tweaked(func(o *metav1.ListOptions) {
			if !o.Watch && o.Continue == "" && o.ResourceVersion == "0" {
				o.ResourceVersion, o.Limit = "", 2
			}
		}), 4},
		{"a time limit", tweaked(func(o *metav1.ListOptions) { seconds := int64(30); o.TimeoutSeconds = &seconds }), 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := connect(t, dropintest.Server(t).Config())
			if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			create(t, client, configMap("default", "first", "web"), configMap("other", "first", "db"))
			theirOptions, ourOptions := test.options()
			theirs := clientgo.NewSharedInformerFactoryWithOptions(client, 0, theirOptions...)
			ours := informers.NewSharedInformerFactoryWithOptions(client, 0, ourOptions...)
			their, our := theirs.Core().V1().ConfigMaps().Informer(), ours.Core().V1().ConfigMaps().Informer()
			theirNamespaces, ourNamespaces := theirs.Core().V1().Namespaces().Informer(), ours.Core().V1().Namespaces().Informer()
			ctx := start(t, theirs, ours)
			theirs.WaitForCacheSync(ctx.Done())
			ours.WaitForCacheSync(ctx.Done())
			create(t, client, configMap("default", "second", "web"), configMap("other", "second", "db"))
			dropintest.Same(t, their, our, test.want)
			dropintest.Compare(t, theirNamespaces.GetIndexer(), ourNamespaces.GetIndexer())
		})
	}
}

func tweaked(tweak func(*metav1.ListOptions)) func() ([]clientgo.SharedInformerOption, []informers.SharedInformerOption) {
	return func() ([]clientgo.SharedInformerOption, []informers.SharedInformerOption) {
		return []clientgo.SharedInformerOption{clientgo.WithTweakListOptions(tweak)},
			[]informers.SharedInformerOption{informers.WithTweakListOptions(tweak)}
	}
}

// TestTweakHasTheLastWord: what it sets is what the server is asked for.
func TestTweakHasTheLastWord(t *testing.T) {
	server := dropintest.Server(t)
	var asked queries
	asked.watch(server)
	client := connect(t, server.Config())
	factory := informers.NewFilteredSharedInformerFactory(client, 0, "", func(o *metav1.ListOptions) {
		seconds := int64(77)
		o.LabelSelector, o.TimeoutSeconds = "app=web", &seconds
		if !o.Watch {
			o.Limit = 3
		}
	})
	informer := factory.Core().V1().ConfigMaps().Informer()
	ctx := start(t, factory)
	factory.WaitForCacheSync(ctx.Done())
	create(t, client, configMap("default", "first", "web"))
	dropintest.Await(t, informer, "a watched object", dropintest.Count(1))
	for _, want := range []struct {
		parameter string
		ofWatches bool
		value     string
	}{
		{"labelSelector", false, "app=web"},
		{"labelSelector", true, "app=web"},
		{"limit", false, "3"},
		{"timeoutSeconds", true, "77"},
	} {
		if got := asked.parameters(want.parameter, want.ofWatches); !slices.Contains(got, want.value) {
			t.Errorf("%s (of watches: %v) was %q, want %q", want.parameter, want.ofWatches, got, want.value)
		}
	}
}

// TestTransform: everybody sees what it makes, of bytes and of objects.
func TestTransform(t *testing.T) {
	mark := func(obj any) (any, error) {
		if cm, ok := obj.(*corev1.ConfigMap); ok {
			cm.Data = map[string]string{"transformed": cm.Name}
		}
		return obj, nil
	}
	real := connect(t, dropintest.Server(t).Config())
	create(t, real, configMap("default", "first", "web"))
	for name, client := range map[string]kubernetes.Interface{
		"bytes":   real,
		"objects": fake.NewClientset(configMap("default", "first", "web")),
	} {
		t.Run(name, func(t *testing.T) {
			factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(mark))
			maps := factory.Core().V1().ConfigMaps()
			informer := maps.Informer()
			start(t, factory)
			dropintest.Await(t, informer, "an object", dropintest.Count(1))
			got, err := maps.Lister().ConfigMaps("default").Get("first")
			if err != nil || got.Data["transformed"] != "first" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// TestResync: the type that has a period of its own is resynced by that, others by
// the factory's.
func TestResync(t *testing.T) {
	client := fake.NewClientset(configMap("default", "first", "web"))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithCustomResyncConfig(map[metav1.Object]time.Duration{
		&corev1.ConfigMap{}: time.Second,
	}))
	resynced := make(chan struct{}, 8)
	_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, updated any) {
			if old.(*corev1.ConfigMap).ResourceVersion == updated.(*corev1.ConfigMap).ResourceVersion {
				resynced <- struct{}{}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, factory)
	select {
	case <-resynced:
	case <-dropintest.Context(t).Done():
		t.Error("no resync")
	}
}
