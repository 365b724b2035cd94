package ctrlcache_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/apisim"
)

// forms are all in which ConfigMaps are read, that which needs least first.
func forms() []client.Object {
	return []client.Object{asMetadata(), &corev1.ConfigMap{}, asUnstructured()}
}

// TestGrowthTakesNoTime: readers who need more and more do not wait, however fast they
// come and whatever the watch is doing. For the program's own watch error handler it is
// no error.
func TestGrowthTakesNoTime(t *testing.T) {
	for name, fault := range map[string]*apisim.Fault{
		"while it is watched":     nil,
		"what cannot be watched":  {Match: apisim.Match{Verb: "watch", Resource: "configmaps"}, Status: http.StatusMethodNotAllowed},
		"what may not be watched": {Match: apisim.Match{Verb: "watch", Resource: "configmaps"}, Status: http.StatusForbidden},
		"watches that fail":       {Match: apisim.Match{Verb: "watch", Resource: "configmaps"}, Status: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(e *env) {
				e.create(configMap("default", "a", "red"))
				if fault != nil {
					e.server.Inject(*fault)
				}
				c := e.cache(cache.Options{DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
					if fault == nil {
						e.t.Errorf("the watch error handler was called with %v", err)
					}
				}})
				e.start(c)
				for _, obj := range forms() {
					began := time.Now()
					e.get(c, "a", obj)
					if took := time.Since(began); took > 0 {
						e.t.Errorf("the first %T took %v", obj, took)
					}
				}
			})
		})
	}
}

// TestGrowthDuringOutage: a reader who joins while the server is away, for more than what
// is watched, is served with the first attempt after the server is back; attempts do
// not come faster for it meanwhile.
func TestGrowthDuringOutage(t *testing.T) {
	inBubble(t, func(e *env) {
		e.create(configMap("default", "a", "red"))
		c := e.cache(cache.Options{})
		e.start(c)
		e.get(c, "a", asMetadata())
		back := e.server.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: http.StatusServiceUnavailable})
		e.server.Restart()
		time.Sleep(time.Minute)
		before, _, _ := e.requests.of("configmaps")
		i, err := c.GetInformer(e.ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
		if err != nil {
			e.t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if lists, _, _ := e.requests.of("configmaps"); lists-before > 100 {
			e.t.Errorf("%d lists in ten minutes of outage", lists-before)
		}
		e.get(c, "a", asMetadata()) // what was there still is
		back()
		await(e, "sync", i.HasSyncedChecker().Done())
		e.get(c, "a", &corev1.ConfigMap{})
	})
}

// TestGrowthAfterRestore: a server was restored from a backup and has come further than
// before, so that nobody noticed. When more is read of an object that it has in an older
// state, that state counts: the newer one cannot be read in the new form.
func TestGrowthAfterRestore(t *testing.T) {
	inBubble(t, func(e *env) {
		old := configMap("default", "a", "red")
		e.create(old)
		c := e.cache(cache.Options{})
		e.start(c)
		calls := e.follow(e.informer(c, &corev1.ConfigMap{}))
		await(e, "a call of the handler", calls)
		backup := e.server.Snapshot()
		e.update(configMap("default", "a", "blue"))
		await(e, "a call of the handler", calls)
		e.server.Restore(backup)
		utilnet.CloseIdleConnectionsFor(e.http.Transport)
		for i := range 10 {
			e.create(secret(fmt.Sprint(i), "x"))
		}
		u := asUnstructured()
		e.get(c, "a", u)
		if got := u.GetResourceVersion(); got != old.ResourceVersion {
			e.t.Errorf("read version %s, and the server has %s", got, old.ResourceVersion)
		}
	})
}

func (e *env) update(obj client.Object) {
	e.t.Helper()
	if err := e.direct.Update(e.ctx, obj); err != nil {
		e.t.Fatal(err)
	}
}
