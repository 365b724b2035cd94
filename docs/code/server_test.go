package code

import (
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer is a server for one test.
func newServer(t *testing.T) *apisim.Server {
	t.Helper()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// newPod is a pod that is on a node.
func newPod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func createPod(t *testing.T, server *apisim.Server, name, node string) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(server.Config())
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), newPod(name, node), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
