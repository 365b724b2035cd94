package informers_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
	"github.com/kinform/kinform/predicate"
)

// TestVerifyAndReplay: an informer of a factory compares itself with the server while it
// changes, by metadata, and tells one of its handlers of everything again.
func TestVerifyAndReplay(t *testing.T) {
	server := dropintest.Server(t)
	var metadata atomic.Int64
	cfg := server.Config()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
				metadata.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	client, err := kubernetes.NewForConfigAndClient(cfg, dropintest.HTTP(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	ctx := dropintest.Context(t)
	run, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(client, 0)
	defer factory.Shutdown()
	defer stop()
	informer := factory.Core().V1().ConfigMaps().Informer()
	var mu sync.Mutex
	told := map[string]int{}
	handle, err := informer.AddEventHandler(cache.FilteringUpdateHandler{
		Predicate: predicate.GenerationChanged(), // which never does
		Handler: cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, now any) {
			mu.Lock()
			defer mu.Unlock()
			if old != now {
				t.Errorf("%p is replayed with %p before", now, old)
			}
			told[now.(*corev1.ConfigMap).Name]++
		}}})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b", "c"} {
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	factory.Start(run.Done())
	for range 5 {
		if _, err := maps.Patch(ctx, "a", "application/merge-patch+json", []byte(`{"data":{"x":"`+strings.Repeat("x", 1+len(told))+`"}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		report, err := cache.Verify(ctx, informer)
		if err != nil || report.Differences() != 0 || report.Objects != 3 {
			t.Errorf("Verify finds %v, %v", report, err)
		}
	}
	if metadata.Load() < 5 {
		t.Errorf("%d lists of metadata", metadata.Load())
	}
	n, err := cache.Replay(ctx, handle, kinform.ReplayOptions{})
	mu.Lock()
	if err != nil || n != 3 || len(told) != 3 || told["a"] != 1 {
		t.Errorf("%d were replayed, told %v, %v", n, told, err)
	}
	mu.Unlock()
	theirs := clientgo.NewSharedInformerFactory(client, 0).Core().V1().ConfigMaps().Informer()
	if _, err := cache.Verify(ctx, theirs); err == nil {
		t.Error("an informer of client-go's is verified")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
