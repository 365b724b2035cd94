package ctrlcache_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

// TestRandomOptions: whatever the options are, the server is asked to watch what it is
// asked by controller-runtime's own cache.
func TestRandomOptions(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		o := randomOptions(r)
		want, got := watchesOf(t, cache.New, o), watchesOf(t, ctrlcache.New, o)
		if !slices.Equal(want, got) {
			t.Errorf("options %d:\n got %q\nwant %q", seed, got, want)
		}
	}
}

func randomOptions(r *rand.Rand) cache.Options {
	o := cache.Options{
		DefaultLabelSelector: randomLabels(r), DefaultFieldSelector: randomFields(r, 5),
		DefaultNamespaces: randomNamespaces(r),
	}
	if r.IntN(2) == 0 {
		o.ByObject = map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {
				Namespaces: randomNamespaces(r), Label: randomLabels(r), Field: randomFields(r, 7),
			},
			&corev1.Namespace{}: {Label: randomLabels(r), Field: randomFields(r, 5)},
		}
	}
	return o
}

func randomNamespaces(r *rand.Rand) map[string]cache.Config {
	if r.IntN(3) == 0 {
		return nil
	}
	all := map[string]cache.Config{}
	for _, ns := range []string{"", "one", "two"} {
		if r.IntN(2) == 0 {
			all[ns] = cache.Config{LabelSelector: randomLabels(r), FieldSelector: randomFields(r, 7)}
		}
	}
	return all
}

func randomLabels(r *rand.Rand) labels.Selector {
	return []labels.Selector{nil, nil, labels.Everything(), colored("red"), colored("blue")}[r.IntN(5)]
}

// randomFields returns one of the first n selectors; the last ones are not for kinds
// without namespaces.
func randomFields(r *rand.Rand, n int) fields.Selector {
	return []fields.Selector{
		nil, nil, nil, fields.Everything(), fields.OneTermEqualSelector("metadata.name", "a"),
		fields.OneTermEqualSelector("metadata.namespace", "one"), fields.OneTermNotEqualSelector("metadata.namespace", "two"),
	}[r.IntN(n)]
}

// watchesOf returns what a cache with some options watches when some kinds are asked for.
func watchesOf(t *testing.T, make cache.NewCacheFunc, o cache.Options) (watches []string) {
	t.Helper()
	inBubble(t, func(e *env) {
		var mu sync.Mutex
		e.server.Inject(apisim.Fault{Match: apisim.Match{Verb: "watch", Func: func(h *http.Request) bool {
			q := h.URL.Query()
			mu.Lock()
			defer mu.Unlock()
			watches = append(watches, fmt.Sprint(path.Clean(h.URL.Path), " ", q.Get("labelSelector"), " ", q.Get("fieldSelector")))
			return false
		}}})
		o.HTTPClient = e.http
		c, err := make(e.config, o)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, obj := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Namespace{}} {
			if _, err := c.GetInformer(e.ctx, obj, cache.BlockUntilSynced(false)); err != nil {
				e.t.Error(err)
			}
		}
		stop := e.start(c)
		synctest.Wait()
		stop()
	})
	slices.Sort(watches)
	return slices.Compact(watches)
}
