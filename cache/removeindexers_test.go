package cache_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/cache"
)

func TestRemoveIndexers(t *testing.T) {
	server := newServer(newTrace())
	for name, x := range map[string]cache.Indexer{
		"classic": cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"app": byApp, "more": byApp}),
		"shared":  cache.NewSharedIndexInformer(server, &corev1.Pod{}, 0, cache.Indexers{"app": byApp, "more": byApp}).GetIndexer(),
	} {
		t.Run(name, func(t *testing.T) {
			must(t, x.Add(pod("a", 1)))
			if err := cache.RemoveIndexers(x, "more", "none"); err == nil {
				t.Error("removed an index that does not exist")
			}
			must(t, cache.RemoveIndexers(x, "more"))
			if got := slices.Collect(maps.Keys(x.GetIndexers())); !slices.Equal(got, []string{"app"}) {
				t.Errorf("indexes are %q", got)
			}
			if _, err := x.ByIndex("more", ""); err == nil {
				t.Error("the removed index can be read")
			}
			if got := x.ListIndexFuncValues("more"); len(got) > 0 {
				t.Errorf("the removed index has %q", got)
			}
			must(t, x.AddIndexers(cache.Indexers{"more": byApp}))
			if got, want := x.ListIndexFuncValues("more"), x.ListIndexFuncValues("app"); !slices.Equal(got, want) {
				t.Errorf("added again, it has %q, want %q", got, want)
			}
		})
	}
	if err := cache.RemoveIndexers(foreign{}, "app"); err == nil {
		t.Error("somebody else's store let an index be removed")
	}
}

type foreign struct{ cache.Indexer }
