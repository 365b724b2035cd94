package ctrlcache_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/ctrlcache"
)

// TestReadYourWrites: a client that promises it reads what it wrote, in all forms and
// in several namespaces.
func TestReadYourWrites(t *testing.T) {
	e := newEnv(t)
	e.namespaces("one", "two")
	c := e.cache(cache.Options{DefaultNamespaces: map[string]cache.Config{"one": {}, "two": {}}})
	e.start(c)
	consistent := true
	cl, err := client.New(e.config, client.Options{HTTPClient: e.http, Cache: &client.CacheOptions{
		Reader: c, EnableReadYourWritesConsistency: &consistent, Unstructured: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		for _, ns := range []string{"one", "two"} {
			cm := configMap(ns, fmt.Sprint("o", i), "red")
			if err := cl.Create(e.ctx, cm); err != nil {
				t.Fatal(err)
			}
			cm.Data["color"] = "blue"
			if err := cl.Update(e.ctx, cm); err != nil {
				t.Fatal(err)
			}
			var read corev1.ConfigMap
			if err := cl.Get(e.ctx, client.ObjectKeyFromObject(cm), &read); err != nil || read.Data["color"] != "blue" {
				t.Fatalf("read %v, %v", read.Data, err)
			}
			if i%2 == 0 {
				continue
			}
			if err := cl.Delete(e.ctx, cm); err != nil {
				t.Fatal(err)
			}
			if err := cl.Get(e.ctx, client.ObjectKeyFromObject(cm), &read); !apierrors.IsNotFound(err) {
				t.Fatalf("read what was deleted: %v", err)
			}
		}
	}
	var list corev1.ConfigMapList
	if err := cl.List(e.ctx, &list); err != nil || len(list.Items) != 20 {
		t.Errorf("listed %d, %v", len(list.Items), err)
	}
}

// painter keeps a label of each ConfigMap equal to its color.
type painter struct {
	client.Client
	painted chan string
}

func (p *painter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cm corev1.ConfigMap
	if err := p.Get(ctx, req.NamespacedName, &cm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if cm.Labels["color"] == cm.Data["color"] {
		p.painted <- cm.Name + " " + cm.Data["color"]
		return ctrl.Result{}, nil
	}
	metav1.SetMetaDataLabel(&cm.ObjectMeta, "color", cm.Data["color"])
	err := p.Update(ctx, &cm)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 1}, nil
	}
	return ctrl.Result{}, err
}

// TestManager: the one line of the package's documentation is enough for a manager,
// whose reconciler gets what the server has, and of which nothing is left in the end.
func TestManager(t *testing.T) {
	e := newEnv(t)
	skip := true
	m, err := ctrl.NewManager(e.config, ctrl.Options{
		NewCache:   ctrlcache.New,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &painter{m.GetClient(), make(chan string, 100)}
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(p); err != nil {
		t.Fatal(err)
	}
	early := configMap("default", "early", "red")
	early.Labels = nil
	e.create(early)
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	e.seePainted(p, "early red")
	late := configMap("default", "late", "green")
	late.Labels = nil
	e.create(late)
	e.seePainted(p, "late green")
	cancel()
	if err := await(e, "the end of the manager", ended); err != nil {
		t.Error(err)
	}
	e.watched("configmaps", 0)
	m.GetHTTPClient().CloseIdleConnections()
}

func (e *env) seePainted(p *painter, want string) {
	e.t.Helper()
	for await(e, want, p.painted) != want {
	}
}
