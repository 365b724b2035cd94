// Command operator is a small but complete operator on controller-runtime, with
// kinform's cache. It publishes sites: a custom resource becomes a ConfigMap with a page,
// unless another site has the same host.
//
//	kubectl apply -f examples/operator/crd.yaml
//	go -C examples/operator run . --kubeconfig ~/.kube/config
//
// What kinform has to do with it is one line in newManager.
package main

import (
	"context"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/kinform/kinform/ctrlcache"
	"github.com/kinform/kinform/debug"
)

func main() {
	ctrl.SetLogger(zap.New())
	err := run(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), ctrl.Options{HealthProbeBindAddress: ":8081"})
	if err != nil {
		ctrl.Log.Error(err, "the operator ended")
		os.Exit(1)
	}
}

// run runs the operator until ctx ends.
func run(ctx context.Context, cfg *rest.Config, o ctrl.Options) error {
	m, err := newManager(cfg, o)
	if err != nil {
		return err
	}
	if err := (&publisher{m.GetClient()}).setUp(ctx, m); err != nil {
		return err
	}
	// A kind that does not sync is named here, with the cause.
	if err := m.AddReadyzCheck("cache", ctrlcache.Healthz(m.GetCache())); err != nil {
		return err
	}
	page := debug.New(debug.Options{Title: "sites"})
	defer page.Close()
	if err := addPage(m, page); err != nil {
		return err
	}
	return m.Start(ctx)
}

// addPage shows the informers of the manager's cache next to its metrics. Without a token
// it is for those who forward a port.
func addPage(m ctrl.Manager, page *debug.Handler) error {
	if err := page.Add("cache", m.GetCache()); err != nil {
		return err
	}
	return m.AddMetricsServerExtraHandler("/debug/kinform/", http.StripPrefix("/debug/kinform", page))
}

func newManager(cfg *rest.Config, o ctrl.Options) (ctrl.Manager, error) {
	o.Scheme = runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(o.Scheme); err != nil {
		return nil, err
	}
	if err := sites.AddToScheme(o.Scheme); err != nil {
		return nil, err
	}
	o.NewCache = ctrlcache.New // the one line
	return ctrl.NewManager(cfg, o)
}
