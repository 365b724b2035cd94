package informers_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/internal/dropin/dropintest"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// connect returns a clientset whose connections end with the test.
func connect(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfigAndClient(config, dropintest.HTTP(t, config))
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
