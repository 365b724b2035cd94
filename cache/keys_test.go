package cache_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// TestKeysAreClientGos: keys end in people's work queues and logs, so they, and
// the words of their errors, are the same.
func TestKeysAreClientGos(t *testing.T) {
	same := func(what string, theirs, ours []any) {
		t.Helper()
		if fmt.Sprint(theirs...) != fmt.Sprint(ours...) {
			t.Errorf("%s: client-go says %v, kinform %v", what, theirs, ours)
		}
	}
	two := func(a any, err error) []any { return []any{a, err} }

	for _, obj := range []any{
		pod("a", 1),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		&metav1.ObjectMeta{Namespace: "ns", Name: "m"},
		cache.ExplicitKey("some/key"),
		cache.DeletedFinalStateUnknown{Key: "ns/gone"},
		cache.DeletedFinalStateUnknown{Key: "a/b/c"},
		"no object",
		nil,
	} {
		what := fmt.Sprintf("%T", obj)
		same(what, two(clientgo.MetaNamespaceKeyFunc(obj)), two(cache.MetaNamespaceKeyFunc(obj)))
		same(what, two(clientgo.DeletionHandlingMetaNamespaceKeyFunc(obj)), two(cache.DeletionHandlingMetaNamespaceKeyFunc(obj)))
		same(what, two(clientgo.ObjectToName(obj)), two(cache.ObjectToName(obj)))
		same(what, two(clientgo.DeletionHandlingObjectToName(obj)), two(cache.DeletionHandlingObjectToName(obj)))
		same(what, two(clientgo.MetaNamespaceIndexFunc(obj)), two(cache.MetaNamespaceIndexFunc(obj)))
	}
	for _, key := range []string{"", "name", "ns/name", "/name", "ns/", "a/b/c", "/"} {
		namespace, name, err := clientgo.SplitMetaNamespaceKey(key)
		ourNamespace, ourName, ourErr := cache.SplitMetaNamespaceKey(key)
		same(key, []any{namespace, name, err}, []any{ourNamespace, ourName, ourErr})
		same(key, two(clientgo.ParseObjectName(key)), two(cache.ParseObjectName(key)))
	}
	for _, values := range [][]string{nil, {"one"}, {"one", "two"}} {
		f := func(any) ([]string, error) { return values, nil }
		same("adapter", two(clientgo.IndexFuncToKeyFuncAdapter(f)("x")), two(cache.IndexFuncToKeyFuncAdapter(f)("x")))
	}
	name := types.NamespacedName{Namespace: "ns", Name: "name"}
	if cache.NamespacedNameAsObjectName(name) != cache.NewObjectName("ns", "name") {
		t.Error("names differ")
	}
}
