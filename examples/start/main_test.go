package main

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStart: the program counts what is there, prints what changes, and ends.
func TestStart(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	pods := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("default")
	create := func(name string) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{NodeName: "node-7", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("first")
	ctx, stop := context.WithCancel(t.Context())
	out, ended := console.New(), make(chan error, 1)
	go func() { ended <- run(ctx, server.Config(), out) }()
	out.Await(t, "node-7 has 1 pods")
	create("second")
	out.Await(t, "added default/second Pending")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
