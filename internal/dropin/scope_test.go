package dropin_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/check"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
	"github.com/kinform/kinform/metadatainformer"
)

// scoped is what all factories of kinform's have in common.
type scoped interface {
	kinform.Scoped
	WaitForScope(context.Context) error
	Start(<-chan struct{})
}

// filled makes namespaces a, b and c, with a config map in each that has its label.
func filled(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for _, ns := range []string{"a", "b", "c"} {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"in": ns, "all": "yes"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wantKeys fails unless an informer of a factory has these objects in its scope, and no
// others.
func wantKeys(t *testing.T, f scoped, inf cache.SharedIndexInformer, keys ...string) {
	t.Helper()
	if err := f.WaitForScope(dropintest.Context(t)); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(slices.Values(inf.GetIndexer().ListKeys())); !slices.Equal(got, keys) {
		t.Fatalf("the informer has %v, want %v", got, keys)
	}
}

// TestScopesOfFactories: the informers of all factories change their scope, before and
// while they run.
func TestScopesOfFactories(t *testing.T) {
	server := dropintest.Server(t)
	cfg := server.Config()
	h := dropintest.HTTP(t, cfg)
	clientset := kubernetes.NewForConfigOrDie(cfg)
	filled(t, clientset)
	dynamicClient, err1 := dynamic.NewForConfigAndClient(cfg, h)
	metadataClient, err2 := metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), h)
	typedClient, err3 := kubernetes.NewForConfigAndClient(cfg, h)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	typed := informers.NewSharedInformerFactoryWithOptions(typedClient, 0, informers.WithNamespace("a"))
	untyped := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	meta := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	nodes := typed.Core().V1().Nodes().Informer()
	for name, f := range map[string]struct {
		scoped
		cache.SharedIndexInformer
	}{
		"typed":    {typed.(scoped), typed.Core().V1().ConfigMaps().Informer()},
		"dynamic":  {untyped.(scoped), untyped.ForResource(configMaps).Informer()},
		"metadata": {meta.(scoped), meta.ForResource(configMaps).Informer()},
	} {
		t.Run(name, func(t *testing.T) { scopeOf(t, f.scoped, f.SharedIndexInformer) })
	}
	if err := cache.SetScope(nodes, kinform.Scope{Namespaces: []string{"a"}}); err != nil {
		t.Errorf("nodes, which do not mind: %v", err)
	}
}

// scopeOf goes through some scopes.
func scopeOf(t *testing.T, f scoped, inf cache.SharedIndexInformer) {
	checker := check.NewShared(inf, check.Options{})
	checker.Subscribe(check.Subscriber{Name: "every"})
	set := func(s kinform.Scope) {
		t.Helper()
		if err := f.SetScope(s); err != nil {
			t.Fatal(err)
		}
	}
	set(kinform.Scope{Namespaces: []string{"b"}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f.Start(ctx.Done())
	wantKeys(t, f, inf, "b/one")
	set(kinform.Scope{Namespaces: []string{"a", "b"}})
	wantKeys(t, f, inf, "a/one", "b/one")
	set(kinform.Scope{LabelSelector: "all=yes"})
	wantKeys(t, f, inf, "a/one", "b/one", "c/one")
	set(kinform.Scope{LabelSelector: "all=yes,in notin (b)"})
	wantKeys(t, f, inf, "a/one", "c/one")
	set(kinform.Scope{Nothing: true})
	wantKeys(t, f, inf)
	set(kinform.Scope{Namespaces: []string{"c"}})
	wantKeys(t, f, inf, "c/one")
	if !inf.HasSynced() {
		t.Error("HasSynced went back, which client-go's does not")
	}
	if err := checker.Err(); err != nil {
		t.Error(err)
	}
}

// TestScopeOfSharedInformer: an informer that others share a watch with keeps its scope;
// one that asked before it ran, or has no company, does not.
func TestScopeOfSharedInformer(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	one, two := b.typed(cfg, h, nil), b.typed(cfg, h, nil)
	stopOne := b.run(one)
	stopTwo := b.run(two)
	if err := cache.SetScope(one, kinform.Scope{Nothing: true}); !errors.Is(err, kinform.ErrSharedScope) {
		t.Errorf("while both run: %v", err)
	}
	stopTwo()
	if err := cache.SetScope(one, kinform.Scope{Nothing: true}); err != nil {
		t.Errorf("while one runs: %v", err)
	}
	if n := len(one.GetStore().ListKeys()); n != 0 {
		t.Errorf("a scope of nothing has %d objects", n)
	}
	three := b.typed(cfg, h, nil)
	defer b.run(three)()
	b.wantWatches(2, "second", three)
	stopOne()
	if err := cache.SetScope(three, kinform.Scope{LabelSelector: "a in"}); err == nil {
		t.Error("a selector that cannot be read was accepted")
	}
	if err := cache.SetScope(cache.NewSharedInformer(&cache.ListWatch{}, &corev1.Pod{}, 0), kinform.Scope{}); err == nil {
		t.Error("an informer of a list function changed its scope")
	}
}

// TestScopeOfFakes: programs' tests with fake clientsets can change scopes, too.
func TestScopeOfFakes(t *testing.T) {
	var objects []runtime.Object
	for _, ns := range []string{"a", "b"} {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"}})
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	inf := factory.Core().V1().ConfigMaps().Informer()
	f := factory.(scoped)
	ctx, stop := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer stop()
	f.Start(ctx.Done())
	wantKeys(t, f, inf, "a/one", "b/one")
	for _, want := range []struct {
		kinform.Scope
		keys []string
	}{
		{kinform.Scope{Namespaces: []string{"a"}}, []string{"a/one"}},
		{kinform.Scope{Namespaces: []string{"b"}}, []string{"b/one"}},
		{kinform.Scope{Nothing: true}, nil},
		{kinform.Scope{}, []string{"a/one", "b/one"}},
	} {
		if err := f.SetScope(want.Scope); err != nil {
			t.Fatal(err)
		}
		wantKeys(t, f, inf, want.keys...)
	}
}
