package code

import (
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/check"
)

// TestController is a test of a controller that docs/testing.md shows.
func TestController(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := kubernetes.NewForConfigOrDie(server.Config())
	pods, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(pods, check.Options{List: func(ctx context.Context) (runtime.Object, error) {
		return client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	}})
	c.Subscribe(check.Subscriber{Name: "all"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go pods.Run(ctx)

	_, err = client.CoreV1().Pods("default").Create(ctx, newPod("web", "node-7"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server.Restart()       // every connection breaks
	server.ForgetHistory() // the next watch gets a 410
	if err := c.Compare(ctx); err != nil {
		t.Error(err) // cache, handlers and server differ
	}
	c.Stop()
	if err := c.Err(); err != nil {
		t.Error(err) // what was wrong with the events
	}
}

// TestForbidden injects a fault, and takes it back.
func TestForbidden(t *testing.T) {
	server := newServer(t)
	allow := server.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Status: http.StatusForbidden})
	failed := make(chan error, 1)
	pods, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{
		Backoff: kinform.Backoff{First: time.Millisecond, Most: time.Millisecond},
		OnFailure: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go pods.Run(ctx)
	if err := <-failed; !apierrors.IsForbidden(err) {
		t.Error(err)
	}
	allow()
	if err := pods.WaitSynced(ctx); err != nil {
		t.Error(err)
	}
}
