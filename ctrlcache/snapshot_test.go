package ctrlcache_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

// session is the life of a cache.
func (e *env) session(o ctrlcache.Options, play func(context.Context, cache.Cache)) {
	e.t.Helper()
	c, err := o.New(e.config, cache.Options{HTTPClient: e.http, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	play(ctx, c)
	cancel()
	if err := <-ended; err != nil {
		e.t.Error(err)
	}
}

// TestSnapshot: a cache that starts again does not list what the disk has, in whichever
// form it is read first, and gives what has changed meanwhile.
func TestSnapshot(t *testing.T) {
	e := newEnv(t)
	o := ctrlcache.Options{Snapshot: kinform.SnapshotOptions{Dir: t.TempDir(), Every: time.Millisecond}}
	e.create(configMap("default", "first", "1"))
	e.session(o, func(ctx context.Context, c cache.Cache) {
		meta := asMetadata()
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "first"}, meta); err != nil {
			t.Error(err)
		}
		var whole corev1.ConfigMapList
		if err := c.List(ctx, &whole); err != nil || len(whole.Items) != 1 {
			t.Errorf("listed %d, %v", len(whole.Items), err)
		}
	})
	e.create(configMap("default", "second", "2"))
	var lists atomic.Int32
	e.server.Inject(apisim.Fault{Match: apisim.Match{Verb: "list", Resource: "configmaps", Func: func(r *http.Request) bool {
		if !strings.Contains(r.URL.Query().Get("fieldSelector"), "metadata.name=") {
			lists.Add(1)
		}
		return false // only to count
	}}})
	e.session(o, func(ctx context.Context, c cache.Cache) {
		inf, err := c.GetInformer(ctx, asMetadata(), cache.BlockUntilSynced(false))
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan string, 10)
		if _, err := inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			heard <- obj.(metav1.Object).GetName()
		}}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if name := <-heard; name != "first" && name != "second" {
				t.Errorf("heard of %q", name)
			}
		}
		var whole corev1.ConfigMapList
		if err := c.List(ctx, &whole); err != nil || len(whole.Items) != 2 || whole.Items[0].Data == nil || whole.Items[1].Data == nil {
			t.Errorf("listed %v, %v", whole.Items, err)
		}
	})
	if n := lists.Load(); n != 0 {
		t.Errorf("%d lists after a start from disk", n)
	}
}
