package kinds

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// TestTable: what was read out of client-go's code is what its scheme says.
func TestTable(t *testing.T) {
	if n := len(All()); n != len(byType()) || n != len(byResource()) || n < 100 {
		t.Fatalf("%d kinds, %d types, %d resources", n, len(byType()), len(byResource()))
	}
	for _, k := range All() {
		known, _, err := scheme.Scheme.ObjectKinds(k.Example)
		if err != nil || known[0].GroupVersion() != k.Resource.GroupVersion() {
			t.Errorf("%v: the scheme has %v, %v", k.Resource, known, err)
		}
		if !dropin.SpeaksProtobuf(k.Example) {
			t.Errorf("%v: %T cannot be read from protobuf", k.Resource, k.Example)
		}
	}
}

func isBytes(lw cache.ListerWatcher) bool {
	_, ok := lw.(*dropin.ListWatch)
	return ok
}

// TestWhoIsAskedForBytes: client-go's own clients for each kind, and no others.
func TestWhoIsAskedForBytes(t *testing.T) {
	own, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		client kubernetes.Interface
		want   bool
	}{
		"client-go's own":            {own, true},
		"one that adds nothing":      {struct{ kubernetes.Interface }{own}, true},
		"fake":                       {fake.NewClientset(), false},
		"nil":                        {nil, false},
		"nil pointer":                {(*kubernetes.Clientset)(nil), false},
		"without REST clients":       {kubernetes.New(nil), false},
		"one with clients of itself": {meddling{own}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range All() {
				_, meddled := test.client.(meddling)
				if meddled && k.Resource.GroupVersion().String() != "v1" {
					continue
				}
				if got := isBytes(k.listWatch(test.client, "", nil)); got != test.want {
					t.Errorf("%v: bytes %v, want %v", k.Resource, got, test.want)
				}
			}
		})
	}
}

// meddling is a clientset whose core client is its own affair.
type meddling struct{ kubernetes.Interface }

func (m meddling) CoreV1() corev1client.CoreV1Interface { return meddlingCore{m.Interface.CoreV1()} }

type meddlingCore struct{ corev1client.CoreV1Interface }

// TestRequestsOfObjects: each kind is reached through the right client, in the
// namespace if it lives in one, with tweaked options.
func TestRequestsOfObjects(t *testing.T) {
	for _, k := range All() {
		client := fake.NewClientset()
		lw := k.objects(client, "here", func(o *metav1.ListOptions) { o.LabelSelector = "a=b" })
		if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%v: %v", k.Resource, err)
			continue
		}
		action := client.Actions()[0]
		namespace := ""
		if k.Namespaced {
			namespace = "here"
		}
		if action.GetVerb() != "list" || action.GetResource() != k.Resource || action.GetNamespace() != namespace {
			t.Errorf("%v: asked for %+v", k.Resource, action)
		}
	}
}

// TestForbiddenNamespace: what cannot be part of a path is refused, as client-go's
// clients do, and does not become another path.
func TestForbiddenNamespace(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := For(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	lw := k.listWatch(client, "../../../secret", nil).(*dropin.ListWatch)
	_, err = lw.Open(lw.Needs).List(t.Context(), engine.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "invalid namespace") {
		t.Errorf("got %v, want an error that names the namespace", err)
	}
}
