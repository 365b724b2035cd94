package informers_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/apisim"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// startServer starts an API server that ends with the test.
func startServer(t *testing.T) *apisim.Server {
	t.Helper()
	s, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect returns a clientset whose connections end with the test.
func connect(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// running is what all factories of the tests have in common.
type running interface {
	StartWithContext(context.Context)
	Shutdown()
}

// start starts factories; they are shut down at the end of the test.
func start(t *testing.T, factories ...running) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	for _, f := range factories {
		f.StartWithContext(ctx)
	}
	t.Cleanup(func() {
		cancel()
		for _, f := range factories {
			f.Shutdown()
		}
	})
	return ctx
}
