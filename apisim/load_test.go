package apisim_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

func transportFor(t testing.TB, s *apisim.Server) http.RoundTripper {
	transport, err := rest.TransportFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func TestLoad(t *testing.T) {
	s := start(t, apisim.Options{})
	w := talk(t, s).watch("/api/v1/pods?watch=1")
	const n = 600 // more than a batch
	if err := s.Load(podObjects(n)); err != nil {
		t.Fatal(err)
	}
	want := map[string]*corev1.Pod{}
	for pod := range objects.Pods(1, n) {
		want[pod.Namespace+"/"+pod.Name] = pod
	}
	config := s.Config()
	clients["protobuf"](config)
	list, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != n {
		t.Fatalf("listed %d pods", len(list.Items))
	}
	versions := map[string]bool{}
	for i := range list.Items {
		got := &list.Items[i]
		pod := want[got.Namespace+"/"+got.Name]
		if pod == nil {
			t.Fatalf("nobody loaded %s/%s", got.Namespace, got.Name)
		}
		versions[got.ResourceVersion] = true
		if got.UID == "" || got.CreationTimestamp.IsZero() {
			t.Errorf("%s has no identity", got.Name)
		}
		if !apiequality.Semantic.DeepEqual(got.Status, pod.Status) || !apiequality.Semantic.DeepEqual(got.Spec, pod.Spec) {
			t.Errorf("%s was changed", got.Name)
		}
	}
	if len(versions) != n {
		t.Errorf("%d versions", len(versions))
	}
	for range n {
		if e, err := w.next(); err != nil || e.Type != "ADDED" {
			t.Fatal(e, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	s := start(t, apisim.Options{})
	pod := newPod("a")
	for _, c := range []struct {
		objects []runtime.Object
		want    string
	}{
		{[]runtime.Object{pod, pod}, "already exists"},
		{[]runtime.Object{newPod("A_B")}, "A_B"},
		{[]runtime.Object{&metav1.Status{}}, "no such kind"},
		{[]runtime.Object{objects.CustomResourceDefinition(), objects.CustomResourceDefinition()}, "already exists"},
	} {
		if err := s.Load(slices.Values(c.objects)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if pod.UID != "" || pod.Namespace != "" {
		t.Errorf("Load changed the object of its caller: %v", pod.ObjectMeta)
	}
}

// TestLoadCustom loads a definition and objects of it in one go.
func TestLoadCustom(t *testing.T) {
	s := start(t, apisim.Options{})
	all := func(yield func(runtime.Object) bool) {
		if !yield(objects.CustomResourceDefinition()) {
			return
		}
		for o := range objects.New(objects.Options{}).CustomResources(10) {
			if !yield(o) {
				return
			}
		}
	}
	if err := s.Load(all); err != nil {
		t.Fatal(err)
	}
	gvr := objects.CustomResource
	list := talk(t, s).object(200, "GET", "/apis/"+gvr.Group+"/"+gvr.Version+"/"+gvr.Resource, "")
	if n := len(list.Object["items"].([]any)); n != 10 {
		t.Errorf("listed %d", n)
	}
}

// TestWriteToLoaded changes and deletes objects that are kept packed.
func TestWriteToLoaded(t *testing.T) {
	s := start(t, apisim.Options{})
	if err := s.Load(podObjects(50)); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(s.Config()).CoreV1()
	list, err := client.Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	for i, pod := range list.Items {
		pod.Labels["touched"] = "yes"
		if _, err := client.Pods(pod.Namespace).Update(t.Context(), &pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := client.Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err = client.Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: "touched=yes"})
	if err != nil || len(list.Items) != 25 {
		t.Errorf("%d left, %v", len(list.Items), err)
	}
}
