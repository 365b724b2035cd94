package workloads

import (
	"bytes"
	"compress/flate"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

// TestRandomBytesAreNew: nothing of random bytes can be packed, neither in itself nor
// against the state before or another object.
func TestRandomBytesAreNew(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const size, objects = 1000, 3
	change, err := randomBytes(of(configMaps), size)(newLoad(server), objects)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for range 4 {
		for _, cm := range listConfigMaps(t, server) {
			n, err := w.Write(cm.BinaryData["data"])
			if err != nil {
				t.Fatal(err)
			}
			written += n
		}
		for range objects {
			if err := change(0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if written != 4*objects*size || packed.Len() < written {
		t.Errorf("%d bytes of %d states can be packed into %d", written, 4*objects, packed.Len())
	}
}

func listConfigMaps(t *testing.T, server *apisim.Server) []corev1.ConfigMap {
	t.Helper()
	list, err := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestLoadsChangeSomething: each change of each workload is one that watches see.
func TestLoadsChangeSomething(t *testing.T) {
	for _, w := range All() {
		t.Run(w.Name, func(t *testing.T) {
			server, err := apisim.Start(apisim.Options{History: history(w.ObjectSize)})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			change, err := w.fill(newLoad(server), min(w.Objects, 10))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 40 {
				before := server.ResourceVersion()
				if err := change(float64(i) / 40); err != nil {
					t.Fatal(err)
				}
				if after := server.ResourceVersion(); after == before {
					t.Fatalf("change %d: the version is %d as before", i, before)
				}
			}
		})
	}
}
