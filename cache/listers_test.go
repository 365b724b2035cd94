package cache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/cache"
)

func selector(t *testing.T, s string) labels.Selector {
	t.Helper()
	parsed, err := labels.Parse(s)
	must(t, err)
	return parsed
}

func TestListers(t *testing.T) {
	indexed := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	for name, indexers := range map[string]cache.Indexers{"with index": indexed, "without index": nil} {
		t.Run(name, func(t *testing.T) {
			s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
			elsewhere := pod("c", 3, "color", "red")
			elsewhere.Namespace = "elsewhere"
			for _, p := range []any{pod("a", 1, "color", "red"), pod("b", 2, "color", "blue"), elsewhere} {
				must(t, s.Add(p))
			}
			tests := []struct {
				namespace string
				selector  labels.Selector
				want      []string
			}{
				{"", labels.Everything(), []string{"a@1", "b@2", "c@3"}},
				{"", selector(t, "color=red"), []string{"a@1", "c@3"}},
				{"", labels.Nothing(), nil},
				{"ns", labels.Everything(), []string{"a@1", "b@2"}},
				{"ns", selector(t, "color=red"), []string{"a@1"}},
				{"ns", labels.Nothing(), nil},
				{"nowhere", labels.Everything(), nil},
			}
			for _, test := range tests {
				var got []any
				must(t, cache.ListAllByNamespace(s, test.namespace, test.selector, func(obj any) { got = append(got, obj) }))
				wantObjects(t, got, test.want...)
			}
			var got []any
			must(t, cache.ListAll(s, selector(t, "color=blue"), func(obj any) { got = append(got, obj) }))
			wantObjects(t, got, "b@2")
		})
	}
}

func TestListersSayWhatHasNoLabels(t *testing.T) {
	s := cache.NewIndexer(func(any) (string, error) { return "key", nil }, nil)
	must(t, s.Add("no object"))
	ignore := func(any) {}
	if cache.ListAll(s, selector(t, "a=b"), ignore) == nil {
		t.Error("ListAll had nothing to say")
	}
	if cache.ListAllByNamespace(s, "ns", labels.Everything(), ignore) == nil {
		t.Error("ListAllByNamespace had nothing to say")
	}
	if err := cache.ListAll(s, labels.Everything(), ignore); err != nil {
		t.Errorf("all without a look at labels: %v", err)
	}
}

func TestGenericLister(t *testing.T) {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	must(t, s.Add(pod("a", 1)))
	lister := cache.NewGenericLister(s, schema.GroupResource{Resource: "pods"})

	shown := func(objs []runtime.Object, err error) []any {
		t.Helper()
		must(t, err)
		all := make([]any, len(objs))
		for i := range objs {
			all[i] = objs[i]
		}
		return all
	}
	wantObjects(t, shown(lister.List(labels.Everything())), "a@1")
	wantObjects(t, shown(lister.ByNamespace("ns").List(labels.Everything())), "a@1")
	wantObjects(t, shown(lister.ByNamespace("other").List(labels.Everything())))

	for _, get := range []func() (runtime.Object, error){
		func() (runtime.Object, error) { return lister.Get("ns/a") },
		func() (runtime.Object, error) { return lister.ByNamespace("ns").Get("a") },
	} {
		if obj, err := get(); err != nil || show(obj) != "a@1" {
			t.Errorf("%v, %v", obj, err)
		}
	}
	_, err := lister.ByNamespace("ns").Get("b")
	if !apierrors.IsNotFound(err) || err.Error() != `pods "b" not found` {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := lister.Get("b"); !apierrors.IsNotFound(err) {
		t.Errorf("what is not there: %v", err)
	}
}

// TestOwnNamespaceIndex: a program's own function under the name of the namespace index
// counts, with a selector and without.
func TestOwnNamespaceIndex(t *testing.T) {
	x := cache.NewSharedIndexInformer(newSource("1"), &corev1.Pod{}, 0, cache.Indexers{
		cache.NamespaceIndex: func(any) ([]string, error) { return []string{"everywhere"}, nil },
	}).GetIndexer()
	must(t, x.Add(pod("a", 1, "color", "red")))
	for _, s := range []labels.Selector{labels.Everything(), selector(t, "color=red")} {
		for _, namespace := range []string{"everywhere", "ns"} { // the function says the same of both
			found := 0
			must(t, cache.ListAllByNamespace(x, namespace, s, func(any) { found++ }))
			if found != 1 {
				t.Errorf("%q in %s: %d, want 1", s, namespace, found)
			}
		}
	}
}
