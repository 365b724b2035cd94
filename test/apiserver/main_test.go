package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/warmstart"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(crashMode); mode != "" {
		crash(mode)
	}
	warmstart.Child()
	code := Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// limited is the test's context, with an end that no healthy test gets near.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// connect makes a client whose connections end with the test.
func connect(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	// http.CloseIdleConnections does not reach through client-go's wrappers.
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(http.Transport) })
	client, err := kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// start runs a server for this test alone. Its folder is made in a folder that
// must be empty after Close.
func start(t *testing.T, options Options) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	temporary := ownTemporaryFolder(t)
	s, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wantEmpty(t, temporary)
	})
	return s
}

func ownTemporaryFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		t.Errorf("left behind in %s: %s", dir, e.Name())
	}
}

// groupGone reports whether no process of the group is left.
func groupGone(group int) bool {
	return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH)
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func createConfigMap(t *testing.T, client kubernetes.Interface, name string) *corev1.ConfigMap {
	t.Helper()
	created, err := client.CoreV1().ConfigMaps("default").Create(limited(t), configMap(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}
