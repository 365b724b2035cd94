package controllerruntime

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
	"github.com/kinform/kinform/metrics"
)

// TestMetricsOfAManager: what a manager's cache does is in controller-runtime's registry,
// which its metrics server shows.
func TestMetricsOfAManager(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if _, err := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default").Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(server.Config(), ctrl.Options{
		NewCache: ctrlcache.New,
		Metrics:  metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	collector, err := metrics.Register(ctrlmetrics.Registry, mgr.GetCache())
	if err != nil {
		t.Fatal(err)
	}
	defer ctrlmetrics.Registry.Unregister(collector)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if _, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("not synced")
	}
	if n, ok := gathered(t, "kinform_objects"); !ok || n != 1 {
		t.Errorf("%v objects, want 1", n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n, ok := gathered(t, "kinform_objects"); ok {
		t.Errorf("after the manager has ended, there are %v objects", n)
	}
	if n, ok := gathered(t, "kinform_informers"); !ok || n != 0 {
		t.Errorf("after the manager has ended, there are %v informers", n)
	}
}

// gathered returns the value of a gauge that controller-runtime's registry has once.
func gathered(t *testing.T, name string) (value float64, ok bool) {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			if len(f.GetMetric()) != 1 {
				t.Errorf("%s has %d series", name, len(f.GetMetric()))
			}
			return f.GetMetric()[0].GetGauge().GetValue(), true
		}
	}
	return 0, false
}
