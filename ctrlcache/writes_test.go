package ctrlcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

// afterWrites starts a cache whose reads wait for what the client has written.
func afterWrites(t *testing.T, e *env) (cache.Cache, typedcorev1.ConfigMapInterface) {
	t.Helper()
	var writes kinform.Writes
	c, err := ctrlcache.AfterWrites(&writes)(e.config, cache.Options{HTTPClient: e.http})
	if err != nil {
		t.Fatal(err)
	}
	e.start(c)
	cfg := rest.CopyConfig(e.config)
	cfg.Wrap(writes.Wrap)
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, clientset.CoreV1().ConfigMaps("default")
}

// TestAfterWrites: what a clientset has written is what the cache's readers get, one at a
// time and in lists, typed and as metadata.
func TestAfterWrites(t *testing.T) {
	e := newEnv(t)
	c, own := afterWrites(t, e)
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			key := client.ObjectKey{Namespace: "default", Name: fmt.Sprint("o", i)}
			for n := range 20 {
				made, err := own.Create(e.ctx, configMap("default", key.Name, fmt.Sprint(n)), metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				var read corev1.ConfigMap
				if err := c.Get(e.ctx, key, &read); err != nil || read.UID != made.UID {
					t.Errorf("read %v, %v", read, err)
				}
				if err := own.Delete(e.ctx, key.Name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				meta := asMetadata()
				if err := c.Get(e.ctx, key, meta); !apierrors.IsNotFound(err) {
					t.Errorf("read what was deleted: %v, %v", meta.UID, err)
				}
			}
		})
	}
	writers.Wait()
	if err := own.DeleteCollection(e.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	e.create(configMap("default", "last", "")) // which is not noted
	if _, err := own.Create(e.ctx, configMap("default", "first", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var list corev1.ConfigMapList
	if err := c.List(e.ctx, &list); err != nil || len(list.Items) != 2 {
		t.Errorf("listed %d, %v", len(list.Items), err)
	}
}

// TestRemovedWhileWaitedFor: who waits for a write in an informer that is removed hears of it.
func TestRemovedWhileWaitedFor(t *testing.T) {
	e := newEnv(t)
	watches := apisim.Match{Resource: "configmaps", Verb: "watch"}
	e.server.Inject(apisim.Fault{Match: watches, HangAfterBytes: 1})
	c, own := afterWrites(t, e)
	var list corev1.ConfigMapList
	if err := c.List(e.ctx, &list); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 100) // by those who wait, as the watch brings nothing
	e.server.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps", Verb: "list", Func: func(*http.Request) bool {
		asked <- struct{}{}
		return true
	}}, Hang: true})
	if _, err := own.Create(e.ctx, configMap("default", "own", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- c.List(e.ctx, &list) }()
	<-asked
	if err := c.RemoveInformer(e.ctx, &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("the wait ended with %v", err)
	}
}
