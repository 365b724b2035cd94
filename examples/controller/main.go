// Command controller is a small but complete controller. It copies each ConfigMap
// of the namespace default that has the label mirror=true into all other
// namespaces, and keeps the copies as the original is: a copy that somebody
// changes or deletes is repaired, a new namespace gets its copies, and copies go
// when the original does.
//
//	go run ./examples/controller --kubeconfig ~/.kube/config
//
// The way of a change: informer → handler → key → queue → reconcile. Handlers
// only say which copies may have to change; reconcile looks at the caches and
// decides, so that it does not matter how often, or why, it is called.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"
)

func main() {
	kubeconfig := flag.String("kubeconfig", filepath.Join(homedir.HomeDir(), ".kube", "config"), "used outside of a cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := config(*kubeconfig)
	if err == nil {
		err = run(ctx, cfg, os.Stdout)
	}
	if err != nil {
		slog.Error("the controller ended", "error", err)
		os.Exit(1)
	}
}

// config is what a pod finds in its cluster, or else a kubeconfig.
func config(kubeconfig string) (*rest.Config, error) {
	if cfg, err := rest.InClusterConfig(); err == nil {
		return cfg, nil
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// run runs the controller until ctx ends.
func run(ctx context.Context, cfg *rest.Config, out io.Writer) error {
	c, err := newController(cfg, slog.New(slog.NewTextHandler(out, nil)))
	if err != nil {
		return err
	}
	return c.run(ctx)
}
