package ctrlcache_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

var widgets = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

func widget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(widgets)
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

// widgetDefinition makes a server know widgets.
func widgetDefinition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// TestLifeOfAManager: it is refused one kind for a while, loses the server, and gets a
// definition late. Nothing of that holds up the other kinds; in the end nothing is left,
// which the bubble proves: every goroutine in it has ended, or the test fails.
func TestLifeOfAManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := apisim.Start(apisim.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		l := newLife(t, server)
		defer l.close()

		allow := server.Inject(apisim.Fault{Match: apisim.Match{Resource: "secrets", Verb: "list"}, Status: http.StatusForbidden})
		l.create(configMap("default", "first", "red"))
		l.start()
		l.sees("ConfigMap first")
		allow()
		l.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}})
		l.sees("Secret first")

		server.Restart()
		l.close() // connections that were cut
		l.create(configMap("default", "second", "red"))
		l.sees("ConfigMap second")

		l.create(widgetDefinition(), widget("first"))
		l.sees("Widget first")
		l.stop()
	})
}

// life is a manager with a controller of each of some kinds, that says what it sees.
type life struct {
	t       *testing.T
	manager ctrl.Manager
	direct  client.Client
	seen    chan string
	cancel  context.CancelFunc
	ended   chan error
}

func newLife(t *testing.T, server *apisim.Server) *life {
	t.Helper()
	skip := true
	m, err := ctrl.NewManager(server.Config(), ctrl.Options{
		NewCache:   ctrlcache.New,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &life{t: t, manager: m, seen: make(chan string, 100), ended: make(chan error, 1)}
	if l.direct, err = client.New(m.GetConfig(), client.Options{HTTPClient: m.GetHTTPClient()}); err != nil {
		t.Fatal(err)
	}
	for kind, obj := range map[string]client.Object{"ConfigMap": &corev1.ConfigMap{}, "Secret": &corev1.Secret{}, "Widget": widget("")} {
		see := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			read := obj.DeepCopyObject().(client.Object)
			if err := m.GetCache().Get(ctx, r.NamespacedName, read); err != nil {
				return reconcile.Result{}, err
			}
			l.seen <- kind + " " + read.GetName()
			return reconcile.Result{}, nil
		})
		if err := ctrl.NewControllerManagedBy(m).Named(kind).For(obj).Complete(see); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *life) create(objs ...client.Object) {
	l.t.Helper()
	for _, obj := range objs {
		if err := l.direct.Create(l.t.Context(), obj); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *life) start() {
	ctx, cancel := context.WithCancel(l.t.Context())
	l.cancel = cancel
	go func() { l.ended <- l.manager.Start(ctx) }()
}

// sees waits until a controller has seen an object.
func (l *life) sees(want string) {
	l.t.Helper()
	for {
		select {
		case got := <-l.seen:
			if got == want {
				return
			}
		case err := <-l.ended:
			l.t.Fatalf("the manager ended before it saw %s: %v", want, err)
		}
	}
}

func (l *life) stop() {
	l.t.Helper()
	l.cancel()
	if err := <-l.ended; err != nil {
		l.t.Errorf("the manager ended with %v", err)
	}
}

func (l *life) close() { utilnet.CloseIdleConnectionsFor(l.manager.GetHTTPClient().Transport) }
