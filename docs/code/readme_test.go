package code

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/kube"
)

// TestReadme runs the program of the README.
func TestReadme(t *testing.T) {
	server := newServer(t)
	createPod(t, server, "web", "node-7")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := printPods(ctx, server.Config()); err != nil {
		t.Fatal(err)
	}
}

func printPods(ctx context.Context, cfg *rest.Config) error {
	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
	if err != nil {
		return err
	}
	byNode, err := pods.AddFieldIndex("node", "spec.nodeName")
	if err != nil {
		return err
	}
	pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		if pod, err := ev.New(); err == nil {
			slog.Info("pod", "event", ev.Type, "key", ev.Key, "phase", pod.Status.Phase)
		}
	}, kinform.SubscribeOptions{})
	go pods.Run(ctx)
	if err := pods.WaitSynced(ctx); err != nil {
		return err // names the cause: forbidden, no such resource, unreachable, …
	}
	for pod := range byNode.Get("node-7") {
		fmt.Println(pod.Name)
	}
	return nil
}

// tuned is a clientset whose lists come as fast as those of package kinform.
func tuned(cfg *rest.Config) (*kubernetes.Clientset, error) {
	cfg, err := kube.Tuned(cfg) // github.com/kinform/kinform/kube
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cfg)
}

// TestEmbeddedServer: a server for tests is three lines.
func TestEmbeddedServer(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := kubernetes.NewForConfigOrDie(server.Config())
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	if _, err := tuned(server.Config()); err != nil {
		t.Fatal(err)
	}
}
