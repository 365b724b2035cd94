package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// story is a cluster with the controller at work.
type story struct {
	*testing.T
	server *apisim.Server
	client kubernetes.Interface
	out    *console.Console
	watch  watch.Interface
}

func begin(t *testing.T) *story {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &story{T: t, server: server, client: kubernetes.NewForConfigOrDie(server.Config()), out: console.New()}
	if s.watch, err = s.client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.watch.Stop)
	s.namespace("shop")
	return s
}

// run runs the controller until the end of the test.
func (s *story) run() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, s.server.Config(), s.out) }()
	s.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.Errorf("it ended with %v, want a good end", err)
		}
	})
	s.out.Await(s, "mirroring")
}

func (s *story) namespace(name string) {
	s.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.client.CoreV1().Namespaces().Create(s.Context(), ns, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func (s *story) create(namespace, name, value string, labels map[string]string) {
	s.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"v": value}}
	if _, err := s.client.CoreV1().ConfigMaps(namespace).Create(s.Context(), cm, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func (s *story) patch(namespace, name, body string) {
	s.Helper()
	_, err := s.client.CoreV1().ConfigMaps(namespace).Patch(s.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *story) remove(namespace, name string) {
	s.Helper()
	if err := s.client.CoreV1().ConfigMaps(namespace).Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

// await waits until a ConfigMap is seen to be created or changed to a value, or,
// for "", deleted. What was seen before is not seen again.
func (s *story) await(namespace, name, value string) {
	s.Helper()
	deadline := time.After(console.Patience)
	for {
		select {
		case ev := <-s.watch.ResultChan():
			cm, ok := ev.Object.(*corev1.ConfigMap)
			if !ok {
				s.Fatalf("the test's own watch broke: %v", ev)
			}
			gone := ev.Type == watch.Deleted
			if cm.Namespace == namespace && cm.Name == name && gone == (value == "") && (gone || cm.Data["v"] == value) {
				return
			}
		case <-deadline:
			s.Fatalf("%s/%s never became %q; the controller says\n%s", namespace, name, value, s.out)
		}
	}
}

var mirrored = map[string]string{"mirror": "true"}

func TestMirror(t *testing.T) {
	s := begin(t)
	s.create("default", "app", "1", mirrored)
	s.create("default", "private", "1", nil)
	s.run()
	s.await("shop", "app", "1")

	// The original changes.
	s.patch("default", "app", `{"data":{"v":"2"}}`)
	s.await("shop", "app", "2")

	// Somebody changes a copy, or deletes it.
	s.patch("shop", "app", `{"data":{"v":"mine"}}`)
	s.await("shop", "app", "mine")
	s.await("shop", "app", "2")
	s.remove("shop", "app")
	s.await("shop", "app", "")
	s.await("shop", "app", "2")

	// A namespace comes later.
	s.namespace("late")
	s.await("late", "app", "2")

	// The label goes, and with it the copies.
	s.patch("default", "app", `{"metadata":{"labels":{"mirror":null}}}`)
	s.await("shop", "app", "")

	list, err := s.client.CoreV1().ConfigMaps("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cm := range list.Items {
		if cm.Name == "private" {
			t.Errorf("%s was copied, though it has no label", cm.Name)
		}
	}
}

func TestMirrorLeavesStrangersAlone(t *testing.T) {
	s := begin(t)
	s.create("shop", "app", "theirs", nil)
	s.create("default", "app", "ours", mirrored)
	s.run()
	s.out.Await(t, "in the way, left alone", "namespace=shop")
	cm, err := s.client.CoreV1().ConfigMaps("shop").Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil || cm.Data["v"] != "theirs" {
		t.Errorf("got %v, %v, want it as it was", cm, err)
	}
}

func TestMirrorTriesAgain(t *testing.T) {
	s := begin(t)
	s.create("default", "app", "1", mirrored)
	s.server.Inject(apisim.Fault{
		Match: apisim.Match{Verb: "create", Resource: "configmaps", Namespace: "shop"}, Status: http.StatusInternalServerError, Times: 3,
	})
	s.run()
	s.await("shop", "app", "1")
	s.out.Await(t, "will try again", "failures=3")
}

func TestMirrorDeletesWhatWasLeftBehind(t *testing.T) {
	s := begin(t)
	s.create("shop", "gone", "1", copyLabels)
	s.await("shop", "gone", "1")
	s.run()
	s.await("shop", "gone", "")
}
