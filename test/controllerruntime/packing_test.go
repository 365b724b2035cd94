package controllerruntime

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/test/apiserver"
)

// unpacked makes informers that hold objects as they came.
func unpacked(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	i := cache.NewSharedIndexInformer(lw, obj, resync, indexers)
	if err := cache.SetObjectOptions(i, cache.ObjectOptions{Unpacked: true}); err != nil {
		panic(err) // it does not run yet
	}
	return i
}

// TestObjectsArePacked: what controller-runtime hands to an informer, in whatever form,
// is held as bytes, unless that is turned off, and is read as it is on the server.
func TestObjectsArePacked(t *testing.T) {
	server := apiserver.Shared(t)
	loose, meta := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	loose.SetGroupVersionKind(configMaps)
	meta.SetGroupVersionKind(configMaps)
	for name, c := range map[string]struct {
		make newInformer
		form client.Object
		held string
	}{
		"typed":        {cache.NewSharedIndexInformer, &corev1.ConfigMap{}, "protobuf"},
		"metadata":     {cache.NewSharedIndexInformer, meta, "protobuf"},
		"unstructured": {cache.NewSharedIndexInformer, loose, "json"},
		"turned off":   {unpacked, &corev1.ConfigMap{}, "objects"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, server.Config(), c.make, "packed")
			e.create(configMap(e.namespace, "a", "red"))
			got, want := c.form.DeepCopyObject().(client.Object), c.form.DeepCopyObject().(client.Object)
			key := client.ObjectKey{Namespace: e.namespace, Name: "a"}
			r, stop := e.cacheOn(ctrlcache.Options{DefaultNamespaces: map[string]ctrlcache.Config{e.namespace: {}}})
			defer stop()
			if err := r.Get(e.ctx, key, got); err != nil {
				t.Fatal(err)
			}
			if err := e.direct.Get(e.ctx, key, want); err != nil {
				t.Fatal(err)
			}
			want.GetObjectKind().SetGroupVersionKind(configMaps)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the cache has something else than the server (-):\n%s", d)
			}
			if d := cache.Describe(<-e.made); d.Store.Held != c.held {
				t.Errorf("held as %s, want %s", d.Store.Held, c.held)
			}
		})
	}
}
