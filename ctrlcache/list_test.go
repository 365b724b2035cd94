package ctrlcache_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSelection: lists select by label, namespace, index and all together; indexes can
// come before and after the start.
func TestSelection(t *testing.T) {
	e := newEnv(t)
	e.namespaces("one")
	for _, ns := range []string{"default", "one"} {
		e.create(configMap(ns, "a", "red"), configMap(ns, "b", "blue"), configMap(ns, "c", "red"))
	}
	c := e.cache(cache.Options{})
	byColor := func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["color"]} }
	byName := func(obj client.Object) []string { return []string{obj.GetName()} }
	e.index(c, "color", byColor)
	e.start(c)
	e.index(c, "name", byName)
	in := client.InNamespace("one")
	for _, test := range []struct {
		options []client.ListOption
		want    []string
	}{
		{[]client.ListOption{in}, []string{"one/a", "one/b", "one/c"}},
		{[]client.ListOption{client.MatchingLabels{"color": "blue"}}, []string{"default/b", "one/b"}},
		{[]client.ListOption{client.MatchingFields{"color": "red"}}, []string{"default/a", "default/c", "one/a", "one/c"}},
		{[]client.ListOption{client.MatchingFields{"color": "red"}, in}, []string{"one/a", "one/c"}},
		{[]client.ListOption{client.MatchingFields{"color": "red", "name": "c"}}, []string{"default/c", "one/c"}},
		{[]client.ListOption{client.MatchingFields{"color": "red", "name": "c"}, in}, []string{"one/c"}},
		{[]client.ListOption{client.MatchingFields{"color": "red", "name": "b"}}, []string{}},
		{[]client.ListOption{client.MatchingFields{"color": "red"}, in, client.MatchingLabels{"color": "blue"}}, []string{}},
	} {
		got := slices.DeleteFunc(e.names(c, test.options...), func(n string) bool { return !slices.Contains([]string{"a", "b", "c"}, n[len(n)-1:]) })
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.options, got, test.want)
		}
	}
	if got := e.names(c, client.Limit(2), client.MatchingFields{"color": "red"}); len(got) != 2 {
		t.Errorf("limited to 2: %v", got)
	}
	e.refuses(c)
	if err := c.IndexField(e.ctx, &corev1.ConfigMap{}, "name", byName); err == nil {
		t.Error("an index was added twice")
	}
}

func (e *env) index(c cache.Cache, field string, values client.IndexerFunc) {
	e.t.Helper()
	if err := c.IndexField(e.ctx, &corev1.ConfigMap{}, field, values); err != nil {
		e.t.Fatal(err)
	}
}

// refuses checks that what a cache cannot do is an error.
func (e *env) refuses(c cache.Cache) {
	e.t.Helper()
	for _, o := range []client.ListOption{
		client.Continue("token"),
		client.MatchingFields{"none": "x"},
		client.MatchingFields{"color": "red", "none": "x"},
		client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("color", "red")},
		client.MatchingFieldsSelector{Selector: fields.Everything()},
	} {
		if err := c.List(e.ctx, &corev1.ConfigMapList{}, o); err == nil {
			e.t.Errorf("list with %#v is no error", o)
		}
	}
}

// TestOwnership: what is read is the caller's own, and what it had before is gone;
// objects are shared only with those who ask for that.
func TestOwnership(t *testing.T) {
	e := newEnv(t)
	e.create(configMap("default", "a", "red"))
	c := e.cache(cache.Options{})
	e.start(c)
	for range 3 { // decoded for the caller, decoded to be kept, copied
		cm := &corev1.ConfigMap{BinaryData: map[string][]byte{"stale": nil}}
		e.get(c, "a", cm)
		if cm.BinaryData != nil || cm.Data["color"] != "red" || cm.Kind != "ConfigMap" {
			t.Fatalf("got %v", cm)
		}
		cm.Data["color"] = "spoilt"
		var list corev1.ConfigMapList
		if err := c.List(e.ctx, &list, client.MatchingLabels{"color": "red"}); err != nil || len(list.Items) != 1 {
			t.Fatalf("listed %v, %v", list.Items, err)
		}
		if list.Items[0].Data["color"] != "red" || list.Items[0].Kind != "ConfigMap" {
			t.Fatalf("listed %v", list.Items[0])
		}
		list.Items[0].Data["color"] = "spoilt"
	}
	var one, two corev1.ConfigMap
	for _, cm := range []*corev1.ConfigMap{&one, &two} {
		if err := c.Get(e.ctx, client.ObjectKey{Namespace: "default", Name: "a"}, cm, client.UnsafeDisableDeepCopy); err != nil {
			t.Fatal(err)
		}
	}
	one.Data["color"] = "shared"
	if two.Data["color"] != "shared" {
		t.Error("with UnsafeDisableDeepCopy, readers have objects of their own")
	}
}

// TestErrors: they are those of controller-runtime's cache.
func TestErrors(t *testing.T) {
	e := newEnv(t)
	key := client.ObjectKey{Namespace: "default", Name: "none"}
	c := e.cache(cache.Options{})
	var notStarted *cache.ErrCacheNotStarted
	if err := c.Get(e.ctx, key, &corev1.ConfigMap{}); !errors.As(err, &notStarted) {
		t.Errorf("before the start: %v", err)
	}
	e.start(c)
	err := c.Get(e.ctx, key, &corev1.ConfigMap{})
	if want := `ConfigMap "none" not found`; !apierrors.IsNotFound(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	strict := e.cache(cache.Options{ReaderFailOnMissingInformer: true})
	e.start(strict)
	var notCached *cache.ErrResourceNotCached
	if err := strict.List(e.ctx, &corev1.ConfigMapList{}); !errors.As(err, &notCached) || notCached.GVK != configMaps {
		t.Errorf("without an informer: %v", err)
	}
	if err := strict.Get(e.ctx, key, widget("none")); !errors.As(err, &notCached) || notCached.GVK != widgets {
		t.Errorf("of a kind that the server does not have: %v", err)
	}
}

// TestSeveralFieldsCostWhatOneFinds: a list by two fields costs what the first finds, not
// what all have that the second would.
func TestSeveralFieldsCostWhatOneFinds(t *testing.T) {
	e := newEnv(t)
	const objects = 5000
	if err := e.server.Load(func(yield func(runtime.Object) bool) {
		for i := range objects {
			if !yield(configMap("default", fmt.Sprint("o", i), "red")) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	c := e.cache(cache.Options{})
	e.index(c, "color", func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["color"]} })
	e.index(c, "a-name", func(obj client.Object) []string { return []string{obj.GetName()} })
	e.start(c)
	cost := func(fields client.MatchingFields) uint64 {
		var before, after goruntime.MemStats
		const times = 100
		goruntime.ReadMemStats(&before)
		for range times {
			if got := e.names(c, fields); len(got) != 1 {
				t.Fatalf("%v: %v", fields, got)
			}
		}
		goruntime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / times
	}
	one, two := cost(client.MatchingFields{"a-name": "o7"}), cost(client.MatchingFields{"a-name": "o7", "color": "red"})
	if two > 2*one+10<<10 {
		t.Errorf("by two fields, %d bytes are allocated, by one %d", two, one)
	}
}
