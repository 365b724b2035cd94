package controllerruntime

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// copier keeps, for each ConfigMap, a Secret with the same data.
type copier struct{ client.Client }

func (r copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var from corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, to, func() error {
		to.Data = map[string][]byte{}
		for key, value := range from.Data {
			to.Data[key] = []byte(value)
		}
		return controllerutil.SetControllerReference(&from, to, r.Scheme())
	})
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: 1}, nil // the cache has not seen our own write yet
	}
	return ctrl.Result{}, err
}

// manage starts a manager with a copier, and returns a way to stop it.
func (e *env) manage() (ctrl.Manager, func()) {
	e.t.Helper()
	skip := true
	m, err := ctrl.NewManager(e.config, ctrl.Options{
		Cache:      ctrlcache.Options{NewInformer: e.newInformer, DefaultNamespaces: map[string]ctrlcache.Config{e.namespace: {}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(copier{m.GetClient()}); err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.Start(ctx); err != nil {
			e.t.Errorf("manager: %v", err)
		}
	}()
	return m, func() {
		cancel()
		e.wait("stop of the manager", ended)
	}
}

// TestReconciler: a reconciler hears of additions and changes, of what it owns too,
// and reads what it needs from the cache.
func TestReconciler(t *testing.T) {
	forEach(t, "reconciler", func(t *testing.T, e *env) {
		secrets, err := e.direct.Watch(e.ctx, &corev1.SecretList{}, client.InNamespace(e.namespace))
		if err != nil {
			t.Fatal(err)
		}
		defer secrets.Stop()
		e.create(configMap(e.namespace, "early", "red"))
		m, stop := e.manage()
		defer stop()
		e.seeSecret(secrets, "early", "red")

		e.create(configMap(e.namespace, "late", "blue"))
		e.seeSecret(secrets, "late", "blue")

		if err := m.GetClient().Update(e.ctx, configMap(e.namespace, "early", "green")); err != nil {
			t.Fatal(err)
		}
		e.seeSecret(secrets, "early", "green")

		// What it owns is put right again.
		spoilt := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "late"}}
		if err := e.direct.Delete(e.ctx, spoilt); err != nil {
			t.Fatal(err)
		}
		e.seeSecret(secrets, "late", "blue")
	})
}

// seeSecret waits until the server has a secret with a color.
func (e *env) seeSecret(w watch.Interface, name, color string) {
	e.t.Helper()
	for {
		select {
		case ev, ok := <-w.ResultChan():
			if !ok {
				e.t.Fatal("the watch ended")
			}
			if s, ok := ev.Object.(*corev1.Secret); ok && ev.Type != watch.Deleted && s.Name == name && string(s.Data["color"]) == color {
				return
			}
		case <-e.ctx.Done():
			e.t.Fatalf("secret %s did not become %s", name, color)
		}
	}
}
