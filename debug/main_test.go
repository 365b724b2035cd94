package debug_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/debug"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what never happens.
const patience = 30 * time.Second

// bench is a page over an API server.
type bench struct {
	*testing.T
	api    *apisim.Server
	client kubernetes.Interface
	page   *debug.Handler
	url    string
}

func newBench(t *testing.T, o debug.Options) *bench {
	t.Helper()
	api, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, api: api, client: client, page: debug.New(o)}
	server := httptest.NewServer(b.page)
	b.url = server.URL
	t.Cleanup(func() {
		b.page.Close()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := api.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run runs something until the end of the test.
func (b *bench) run(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	b.Cleanup(func() {
		cancel()
		<-done
	})
}

// informer returns an informer that runs, has synced, and is on the page.
func informer[T any](b *bench, name string, o kinform.Options) *kinform.Informer[T] {
	b.Helper()
	inf, err := kinform.New[T](b.api.Config(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.add(name, inf)
	b.run(func(ctx context.Context) { _ = inf.Run(ctx) })
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if err := inf.WaitSynced(ctx); err != nil {
		b.Fatal(err)
	}
	return inf
}

func (b *bench) add(name string, informer any) {
	b.Helper()
	if err := b.page.Add(name, informer); err != nil {
		b.Fatal(err)
	}
}

// get returns the answer to a path within the page.
func (b *bench) get(path string) (int, string) {
	b.Helper()
	answer, err := http.Get(b.url + "/" + path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// see returns what a view shows.
func (b *bench) see(path string) string {
	b.Helper()
	code, text := b.get(path)
	if code != http.StatusOK {
		b.Fatalf("%s: %d, want 200:\n%s", path, code, text)
	}
	return text
}

// createPod creates a pod of one container.
func (b *bench) createPod(name string, labels map[string]string) *corev1.Pod {
	b.Helper()
	pod, err := b.client.CoreV1().Pods("default").Create(b.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.25"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return pod
}
