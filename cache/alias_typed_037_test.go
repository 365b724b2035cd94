//go:build !clientgo036

package cache_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/cache"
)

func TestTypedIndexers(t *testing.T) {
	byName := cache.TypedIndexers[*corev1.Pod]{
		"name": func(p *corev1.Pod) ([]string, error) { return []string{p.Name}, nil },
	}
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.TypedIndexersToIndexers(byName))
	must(t, s.Add(pod("a", 1)))
	must(t, s.Add(pod("b", 2)))
	got, err := s.ByIndex("name", "b")
	must(t, err)
	wantObjects(t, got, "b@2")
	if !slices.Contains(s.ListIndexFuncValues("name"), "a") {
		t.Error("not indexed")
	}
	defer func() {
		if recover() == nil {
			t.Error("another type was indexed")
		}
	}()
	_, _ = cache.TypedIndexerFuncToIndexerFunc(byName["name"])(&corev1.Node{})
}
