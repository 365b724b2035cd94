package ctrlcache_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/apisim"
)

func colored(color string) labels.Selector { return labels.SelectorFromSet(labels.Set{"color": color}) }

// TestNamespaces: a cache sees the namespaces that it was given, each with its own
// settings, and handlers get all of them.
func TestNamespaces(t *testing.T) {
	e := newEnv(t)
	e.namespaces("one", "two")
	for _, ns := range []string{"default", "one", "two"} {
		e.create(configMap(ns, "r", "red"), configMap(ns, "b", "blue"))
	}
	byObject := func(b cache.ByObject) map[client.Object]cache.ByObject {
		return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: b}
	}
	some := map[string]cache.Config{"one": {}, "two": {LabelSelector: colored("red")}}
	for name, test := range map[string]struct {
		options cache.Options
		want    []string
	}{
		"all":                        {cache.Options{}, []string{"default/b", "default/r", "one/b", "one/r", "two/b", "two/r"}},
		"one":                        {cache.Options{DefaultNamespaces: map[string]cache.Config{"one": {}}}, []string{"one/b", "one/r"}},
		"some, one of them narrower": {cache.Options{DefaultNamespaces: some}, []string{"one/b", "one/r", "two/r"}},
		"some, by default narrower": {
			cache.Options{DefaultNamespaces: some, DefaultLabelSelector: colored("blue")},
			[]string{"one/b", "two/r"},
		},
		"all, with exceptions": {
			cache.Options{DefaultNamespaces: map[string]cache.Config{cache.AllNamespaces: {}, "two": {LabelSelector: colored("blue")}}},
			[]string{"default/b", "default/r", "one/b", "one/r", "two/b"},
		},
		"the default namespaces are the kind's, with their settings": {
			cache.Options{DefaultNamespaces: some, ByObject: byObject(cache.ByObject{Label: colored("blue")})},
			[]string{"one/b", "two/r"},
		},
		"a namespace of the kind goes before the kind": {
			cache.Options{ByObject: byObject(cache.ByObject{
				Label:      colored("blue"),
				Namespaces: map[string]cache.Config{"one": {LabelSelector: colored("red")}, "two": {}},
			})},
			[]string{"one/r", "two/b"},
		},
		"no namespaces for the kind means all": {
			cache.Options{DefaultNamespaces: some, ByObject: byObject(cache.ByObject{Namespaces: map[string]cache.Config{}})},
			[]string{"default/b", "default/r", "one/b", "one/r", "two/b", "two/r"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &env{t, e.ctx, e.server, e.config, e.http, e.direct, e.requests}
			c := e.cache(test.options)
			stop := e.start(c)
			defer stop()
			e.sees(c, test.want)
		})
	}
}

// sees compares what is listed, and what a handler gets, with what is wanted.
func (e *env) sees(c cache.Cache, want []string) {
	e.t.Helper()
	names := slices.DeleteFunc(e.names(c), func(name string) bool { return strings.Contains(name, "kube-") })
	if !slices.Equal(names, want) {
		e.t.Errorf("listed %v, want %v", names, want)
	}
	calls := e.follow(e.informer(c, &corev1.ConfigMap{}))
	var told []string
	for range want {
		h := await(e, "a call of the handler", calls)
		told = append(told, h.obj.GetNamespace()+"/"+h.obj.GetName())
	}
	slices.Sort(told)
	if !slices.Equal(told, want) {
		e.t.Errorf("told of %v, want %v", told, want)
	}
}

// TestUnknownNamespace: reading where the cache does not look is an error, not an
// absence.
func TestUnknownNamespace(t *testing.T) {
	e := newEnv(t)
	c := e.cache(cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}})
	e.start(c)
	err := c.Get(e.ctx, client.ObjectKey{Namespace: "other", Name: "a"}, &corev1.ConfigMap{})
	if err == nil || client.IgnoreNotFound(err) == nil {
		t.Errorf("get: %v", err)
	}
	if err := c.List(e.ctx, &corev1.ConfigMapList{}, client.InNamespace("other")); err == nil {
		t.Error("listed a namespace that is not cached")
	}
	if err := c.List(e.ctx, &corev1.NodeList{}); err != nil {
		t.Errorf("nodes have no namespaces: %v", err)
	}
}

// TestTransforms: everybody sees what a transform makes, and labels select by it. That
// which drops managed fields costs no watch of its own and no call.
func TestTransforms(t *testing.T) {
	e := newEnv(t)
	cm := configMap("default", "a", "red")
	cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "me", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{}}`)}}}
	e.create(cm)
	repaint := func(obj any) (any, error) {
		obj.(client.Object).SetLabels(map[string]string{"color": "gold"})
		return obj, nil
	}
	c := e.cache(cache.Options{DefaultTransform: repaint})
	stop := e.start(c)
	for _, obj := range []client.Object{&corev1.ConfigMap{}, asMetadata(), asUnstructured()} {
		e.get(c, "a", obj)
		if obj.GetLabels()["color"] != "gold" {
			t.Errorf("%T has labels %v", obj, obj.GetLabels())
		}
	}
	if got := e.names(c, client.MatchingLabels{"color": "gold"}); len(got) != 1 {
		t.Errorf("selected %v", got)
	}
	stop()

	c = e.cache(cache.Options{DefaultTransform: cache.TransformStripManagedFields()})
	e.start(c)
	for _, obj := range []client.Object{&corev1.ConfigMap{}, asMetadata(), asUnstructured()} {
		e.get(c, "a", obj)
		if obj.GetManagedFields() != nil || obj.GetLabels()["color"] != "red" {
			t.Errorf("%T has %v", obj, obj)
		}
	}
}

// TestBookmarks: they are asked for, unless somebody says otherwise.
func TestBookmarks(t *testing.T) {
	e := newEnv(t)
	asked := make(chan string, 10)
	e.server.Inject(apisim.Fault{Match: apisim.Match{Verb: "watch", Resource: "configmaps", Func: func(r *http.Request) bool {
		asked <- r.URL.Query().Get("allowWatchBookmarks")
		return false
	}}})
	off := false
	for want, o := range map[string]cache.Options{"true": {}, "": {DefaultEnableWatchBookmarks: &off}} {
		c := e.cache(o)
		e.informer(c, &corev1.ConfigMap{})
		stop := e.start(c)
		if got := await(e, "a watch", asked); got != want && (want != "" || got != "false") {
			t.Errorf("allowWatchBookmarks is %q, want %q", got, want)
		}
		stop()
	}
}
