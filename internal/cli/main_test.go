package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sideCommand { // kinform bench starts its own program
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// program is a run of kinform.
type program struct {
	out, notes *console.Console
	cancel     context.CancelCauseFunc
	exit       chan int
}

// start runs kinform until the test stops it, or its end.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{out: console.New(), notes: console.New()}
	p.begin(t, func(ctx context.Context) int { return Main(ctx, args, p.out, p.notes) })
	return p
}

func (p *program) begin(t *testing.T, run func(context.Context) int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p.cancel, p.exit = cancel, make(chan int, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.exit <- run(ctx)
	}()
	t.Cleanup(func() {
		cancel(nil)
		<-done
	})
}

// ended waits for the end and returns the exit code.
func (p *program) ended(t *testing.T) int {
	t.Helper()
	select {
	case code := <-p.exit:
		return code
	case <-time.After(console.Patience):
		t.Fatalf("it does not end; it said\n%s", p.notes)
		return -1
	}
}

// interrupt does what Ctrl-C does, and returns the exit code.
func (p *program) interrupt(t *testing.T) int {
	t.Helper()
	p.cancel(nil)
	return p.ended(t)
}

// timeIsUp does what --for does, and returns the exit code.
func (p *program) timeIsUp(t *testing.T) int {
	t.Helper()
	p.cancel(&timeUp{"--for", time.Minute})
	return p.ended(t)
}

// run runs kinform to its end.
func run(t *testing.T, args ...string) (code int, out, notes string) {
	t.Helper()
	p := start(t, args...)
	code = p.ended(t)
	return code, p.out.String(), p.notes.String()
}

// testServer is an API server with a kubeconfig for it.
type testServer struct {
	*apisim.Server
	client     kubernetes.Interface
	kubeconfig string
}

func newServer(t *testing.T) *testServer {
	t.Helper()
	return newServerWith(t, apisim.Options{})
}

func newServerWith(t *testing.T, o apisim.Options) *testServer {
	t.Helper()
	api, err := apisim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{Server: api, client: client, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if _, err := writeKubeconfig(s.kubeconfig, api.URL()); err != nil {
		t.Fatal(err)
	}
	return s
}

// watch starts kinform watch on the server and waits until it has synced.
func (s *testServer) watch(t *testing.T, resource string, args ...string) *program {
	t.Helper()
	p := start(t, append([]string{"watch", "--kubeconfig", s.kubeconfig, resource}, args...)...)
	p.notes.Await(t, "watching "+resource)
	return p
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

// createPod creates a pod of one container.
func (s *testServer) createPod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	return must(s.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: named(name),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.25"}}},
	}, metav1.CreateOptions{}))(t)
}

// must returns a function that returns the value, or ends the test with the
// error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// runInformer runs an informer until the end of the test, and waits until it has
// synced.
func runInformer[T any](t *testing.T, inf *kinform.Informer[T]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	wait, stop := context.WithTimeout(ctx, console.Patience)
	defer stop()
	if err := inf.WaitSynced(wait); err != nil {
		t.Fatal(err)
	}
}
