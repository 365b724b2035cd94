package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startServer(t *testing.T) *apisim.Server {
	t.Helper()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestStatefulSets(t *testing.T) {
	server := startServer(t)
	sets := kubernetes.NewForConfigOrDie(server.Config()).AppsV1().StatefulSets("default")
	labels := map[string]string{"app": "x"}
	for _, name := range []string{"web", "db"} {
		_, err := sets.Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.StatefulSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	out, ended := console.New(), make(chan error, 1)
	go func() { ended <- run(ctx, server.Config(), out) }()

	out.Await(t, "added    default/web, 1 replicas")
	out.Await(t, "2 StatefulSets in the namespace default:")
	out.Await(t, "  1. db")
	out.Await(t, "  2. web")
	if _, err := sets.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "updated  default/web, 0 of 3 replicas ready, was 0 of 1")
	if err := sets.Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "deleted  default/db")

	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v, want a good end", err)
	}
}

func TestForbidden(t *testing.T) {
	server := startServer(t)
	server.Inject(apisim.Fault{Match: apisim.Match{Resource: "statefulsets"}, Status: http.StatusForbidden})
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	err := run(ctx, server.Config(), console.New())
	if err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("got %v, want the cause", err)
	}
}
