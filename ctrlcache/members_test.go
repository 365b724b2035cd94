package ctrlcache_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

// TestRemoveInformer: the watch ends with its last reader, and with it the memory;
// asking again makes another.
func TestRemoveInformer(t *testing.T) {
	e := newEnv(t)
	e.create(configMap("default", "a", "red"))
	c := e.cache(cache.Options{})
	e.start(c)
	e.informer(c, asMetadata())
	held := weak.Make(e.kept(e.informer(c, &corev1.ConfigMap{})))
	e.watched("configmaps", 1)

	e.remove(c, &corev1.ConfigMap{})
	e.watched("configmaps", 1)
	e.get(c, "a", asMetadata())
	e.remove(c, asMetadata())
	e.watched("configmaps", 0)
	if err := c.RemoveInformer(e.ctx, &corev1.ConfigMap{}); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	runtime.GC()
	if held.Value() != nil {
		t.Error("objects of removed informers are still in memory")
	}

	e.create(configMap("default", "b", "blue"))
	e.get(c, "b", &corev1.ConfigMap{})
	e.watched("configmaps", 1)
}

// remove removes an informer, and waits for its end.
func (e *env) remove(c cache.Cache, obj client.Object) {
	e.t.Helper()
	ended := ctrlcache.Ended(c, obj)
	if err := c.RemoveInformer(e.ctx, obj); err != nil {
		e.t.Fatal(err)
	}
	await(e, "the end of a removed informer", ended)
}

// kept returns an object that an informer's store keeps decoded.
func (e *env) kept(i cache.Informer) *corev1.ConfigMap {
	e.t.Helper()
	obj, _, err := i.(toolscache.SharedIndexInformer).GetStore().GetByKey("default/a")
	if err != nil {
		e.t.Fatal(err)
	}
	return obj.(*corev1.ConfigMap)
}

// TestForbiddenKind: a kind that the server refuses holds up nobody else, and says why
// it has not synced, wherever somebody asks. When it is allowed, it syncs.
func TestForbiddenKind(t *testing.T) {
	e := newEnv(t)
	e.create(configMap("default", "a", "red"))
	allow := e.server.Inject(apisim.Fault{Match: apisim.Match{Verb: "list", Resource: "secrets"}, Status: http.StatusForbidden})
	refused := make(chan error, 100)
	c := e.cache(cache.Options{DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) { refused <- err }})
	health := ctrlcache.Healthz(c)
	if err := health(nil); err == nil {
		t.Error("a cache that was not started is healthy")
	}
	e.start(c)
	if err := health(nil); err != nil {
		t.Errorf("nothing was asked for: %v", err)
	}
	if _, err := c.GetInformer(e.ctx, &corev1.Secret{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	if err := await(e, "a refusal", refused); !apierrors.IsForbidden(err) {
		t.Errorf("the watch error handler got %v", err)
	}
	e.get(c, "a", &corev1.ConfigMap{})

	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := c.GetInformer(ctx, &corev1.Secret{})
	if !apierrors.IsTimeout(err) {
		t.Errorf("want a timeout, got %v", err)
	}
	for what, err := range map[string]error{"GetInformer": err, "Healthz": health(nil), "List": c.List(ctx, &corev1.SecretList{})} {
		if err == nil || !strings.Contains(err.Error(), "forbidden") || !strings.Contains(err.Error(), "secrets") {
			t.Errorf("%s does not name the cause: %v", what, err)
		}
	}
	if !c.WaitForCacheSync(e.ctx) {
		t.Error("the cache waits for what is refused")
	}
	allow()
	e.informer(c, &corev1.Secret{})
	if err := health(nil); err != nil {
		t.Errorf("all has synced: %v", err)
	}
}

// TestStop: a cache that was stopped has stopped everything, and says so.
func TestStop(t *testing.T) {
	e := newEnv(t)
	e.create(configMap("default", "a", "red"))
	c := e.cache(cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}, "kube-system": {}}})
	i := e.informer(c, &corev1.ConfigMap{})
	stop := e.start(c)
	await(e, "sync", i.HasSyncedChecker().Done())
	stop()
	e.watched("configmaps", 0)
	if !i.IsStopped() {
		t.Error("the informer is not stopped")
	}
	ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
	defer cancel()
	if err := c.List(ctx, &corev1.PodList{}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a kind that was first asked for after the stop: %v", err)
	}
	e.get(c, "a", &corev1.ConfigMap{}) // what was there still is
}

// TestSyncedBeforeTheEnd: what has synced is known to have, also by those who first ask
// when it has ended.
func TestSyncedBeforeTheEnd(t *testing.T) {
	inBubble(t, func(e *env) {
		c := e.cache(cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}, "kube-system": {}}})
		stop := e.start(c)
		var synced []func() toolscache.DoneChecker
		for range 20 { // which of two things that have happened is seen first, is left to chance
			i := e.informer(c, &corev1.ConfigMap{})
			r, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
			if err != nil {
				e.t.Fatal(err)
			}
			synced = append(synced, i.HasSyncedChecker, r.HasSyncedChecker)
		}
		synctest.Wait()
		stop()
		for _, checker := range synced {
			await(e, "sync", checker().Done())
		}
	})
}

// TestReadersOfWhatIsRemoved: reads go on while informers are removed and made again. A
// reader may be told that its informer was removed, but never that an object which is
// there is not.
func TestReadersOfWhatIsRemoved(t *testing.T) {
	e := newEnv(t)
	e.create(configMap("default", "a", "red"))
	c := e.cache(cache.Options{})
	e.start(c)
	e.index(c, "color", func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["color"]} })
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !closed(done) {
				var cm corev1.ConfigMap
				err := c.Get(e.ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &cm)
				if err != nil && !apierrors.IsTimeout(err) || err == nil && cm.Data["color"] != "red" {
					t.Errorf("got %v, %v", cm.Data, err)
				}
				var list corev1.ConfigMapList
				err = c.List(e.ctx, &list, client.MatchingLabels{"color": "red"})
				if err != nil && !apierrors.IsTimeout(err) || err == nil && len(list.Items) != 1 {
					t.Errorf("listed %v, %v", list.Items, err)
				}
			}
		})
	}
	for i := range 200 {
		obj := forms()[i%3]
		if err := c.RemoveInformer(e.ctx, obj); err != nil {
			t.Error(err)
		}
		e.get(c, "a", forms()[(i+1)%3])
	}
	close(done)
	readers.Wait()
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// TestRefusedAndThenNot: a kind is waited for again when the server does not refuse it
// any more, but has another trouble with it.
func TestRefusedAndThenNot(t *testing.T) {
	inBubble(t, func(e *env) {
		secrets := apisim.Match{Verb: "list", Resource: "secrets"}
		allow := e.server.Inject(apisim.Fault{Match: secrets, Status: http.StatusForbidden})
		c := e.cache(cache.Options{})
		e.start(c)
		if _, err := c.GetInformer(e.ctx, &corev1.Secret{}, cache.BlockUntilSynced(false)); err != nil {
			e.t.Fatal(err)
		}
		if !c.WaitForCacheSync(e.ctx) {
			e.t.Error("the cache waits for what is refused")
		}
		repair := e.server.Inject(apisim.Fault{Match: secrets, Status: http.StatusInternalServerError})
		allow()
		time.Sleep(time.Minute)
		synced := make(chan bool, 1)
		go func() { synced <- c.WaitForCacheSync(e.ctx) }()
		synctest.Wait()
		if len(synced) > 0 {
			e.t.Error("the cache does not wait for what has trouble")
		}
		repair()
		if !await(e, "sync", synced) {
			e.t.Error("the cache has not synced")
		}
		if err := ctrlcache.Healthz(c)(nil); err != nil {
			e.t.Error(err)
		}
	})
}
