package ctrlcache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinform/kinform/ctrlcache"
)

// TestTimeoutOfClient: a configuration may limit the time of each request, and with it
// that of watches. They are opened again, and nobody waits longer for a change, or is
// told of an error.
func TestTimeoutOfClient(t *testing.T) {
	for name, make := range map[string]cache.NewCacheFunc{"kinform": ctrlcache.New, "stock": cache.New} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(e *env) {
				e.config.Timeout = 5 * time.Second
				h, err := rest.HTTPClientFor(e.config)
				if err != nil {
					t.Fatal(err)
				}
				defer utilnet.CloseIdleConnectionsFor(h.Transport)
				c, err := make(e.config, cache.Options{
					HTTPClient: h,
					DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
						e.t.Errorf("the watch error handler was called with %v", err)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := e.start(c)
				defer stop()
				calls := e.follow(e.informer(c, &corev1.ConfigMap{}))
				for i := range 10 {
					time.Sleep(57 * time.Second)
					synctest.Wait()
					began := time.Now()
					e.create(configMap("default", fmt.Sprint("o", i), "red"))
					await(e, "a call of the handler", calls)
					if took := time.Since(began); took > 2*time.Second {
						e.t.Errorf("a change took %v", took)
					}
				}
			})
		})
	}
}
