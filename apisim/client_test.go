package apisim_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
)

// clients are the ways in which typed clients talk to a server.
var clients = map[string]func(*rest.Config){
	"protobuf": func(c *rest.Config) {
		c.ContentType = "application/vnd.kubernetes.protobuf"
		c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	},
	"json": func(c *rest.Config) { c.ContentType = "application/json" },
}

func start(t testing.TB, o apisim.Options) *apisim.Server {
	t.Helper()
	s, err := apisim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error("Close:", err)
		}
	})
	return s
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func TestClientset(t *testing.T) {
	for name, setup := range clients {
		for _, tls := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := start(t, apisim.Options{TLS: tls})
				config := s.Config()
				setup(config)
				client := kubernetes.NewForConfigOrDie(config)
				lifeOfAPod(t, client)
			})
		}
	}
}

func lifeOfAPod(t *testing.T, client kubernetes.Interface) {
	ctx := context.Background()
	pods := client.CoreV1().Pods("default")
	before, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	created, err := pods.Create(ctx, newPod("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() || created.Status.Phase != corev1.PodPending {
		t.Errorf("created pod lacks what the server sets: %v", created)
	}
	updated := created.DeepCopy()
	updated.Labels["x"] = "y"
	if updated, err = pods.Update(ctx, updated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	updated.Status.Phase = corev1.PodRunning
	if _, err := pods.UpdateStatus(ctx, updated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "x=y", FieldSelector: "status.phase=Running"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Status.Phase != corev1.PodRunning {
		t.Errorf("list has %v", list.Items)
	}
	if err := pods.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Deleted} {
		if got := <-w.ResultChan(); got.Type != want || got.Object.(*corev1.Pod).Name != "a" {
			t.Errorf("event %s, want %s of pod a", got.Type, want)
		}
	}
}
