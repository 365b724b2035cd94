package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// informing is one run of an informer with a store and a handler.
type informing struct {
	noWatchList bool
	// perObject: only the order of what happens to one object is compared.
	perObject bool
	options   cache.InformerOptions
	script    []serverStep
}

// maker makes an informer; source, type and handler are set in the options.
type maker func(cache.InformerOptions, cache.WatchErrorHandler) (cache.Store, cache.Controller)

func theirInformer(o cache.InformerOptions, _ cache.WatchErrorHandler) (cache.Store, cache.Controller) {
	return clientgo.NewInformerWithOptions(o)
}

func ourInformer(o cache.InformerOptions, _ cache.WatchErrorHandler) (cache.Store, cache.Controller) {
	return cache.NewInformerWithOptions(o)
}

// run plays the script and gives the calls of the handler and, after each step,
// what can be read. Times are left out: they depend on random pauses.
func (n informing) run(t *testing.T, make maker) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newTrace())
		s.noWatchList = n.noWatchList
		s.do(put("a"), put("b"), put("c"))

		log := newTrace()
		o := n.options
		o.ListerWatcher, o.ObjectType = s, &corev1.Pod{}
		var store cache.Store
		o.Handler = cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, initial bool) {
				log.note("%s: added %s initial=%t stored=%s", key(obj), show(obj), initial, stored(store, obj))
			},
			UpdateFunc: func(old, new any) {
				log.note("%s: updated %s to %s stored=%s", key(new), show(old), show(new), stored(store, new))
			},
			DeleteFunc: func(obj any) { log.note("%s: deleted %s stored=%s", key(obj), show(obj), stored(store, obj)) },
		}
		errs := newTrace() // by another goroutine than the handler's
		store, controller := make(o, func(r *clientgo.Reflector, err error) {
			errs.note("error of %s at %s: %v", r.TypeDescription(), r.LastSyncResourceVersion(), err)
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		go func() {
			controller.RunWithContext(ctx)
			ended = true
		}()
		for _, step := range n.script {
			synctest.Wait()
			lines = append(lines, errs.take()...)
			lines = append(lines, n.settled(log.take())...)
			lines = append(lines, fmt.Sprintf("----- %s: synced=%t version=%s store=%s at %s", step.does, controller.HasSynced(),
				controller.LastSyncResourceVersion(), sorted(store.List()), store.LastStoreSyncResourceVersion()))
			s.do(step.changes...)
			time.Sleep(step.passes)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		lines = append(lines, n.settled(log.take())...)
		lines = append(lines, fmt.Sprintf("ended=%t with %d watches", ended, s.openWatches()))
	})
	return lines
}

func stored(store cache.Store, obj any) string {
	found, _, _ := store.GetByKey(key(obj))
	return show(found)
}

func key(obj any) string {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	return key
}

// settled gives what comes in no order an order: deletions that a list brought, or
// all but what happens to one object.
func (n informing) settled(lines []string) []string {
	byKey := func(a, b string) int { return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]) }
	if n.perObject {
		slices.SortStableFunc(lines, byKey)
		return lines
	}
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && strings.Contains(lines[to], ": deleted tombstone") {
			to++
		}
		slices.SortStableFunc(lines[from:to], byKey)
		from = max(from, to-1)
	}
	return lines
}

func (n informing) compare(t *testing.T, theirs maker, ours ...maker) {
	t.Helper()
	want := n.run(t, theirs)
	for i, make := range ours {
		if diff := cmp.Diff(want, n.run(t, make)); diff != "" {
			t.Errorf("client-go's (-) and kinform's number %d (+) differ:\n%s", i, diff)
		}
	}
	if last := want[len(want)-1]; last != "ended=true with 0 watches" {
		t.Error(last)
	}
}

func TestInformerBehavesAsClientGos(t *testing.T) {
	forSeeds(t, 40, func(t *testing.T, random *rand.Rand) {
		n := informing{noWatchList: random.IntN(2) == 0, script: randomScript(random, 25)}
		n.perObject = !n.noWatchList // client-go forgets the order of the first events
		for i := range n.script {
			n.script[i].passes = 10 * time.Minute // longer than all pauses
		}
		if random.IntN(2) == 0 {
			n.options.Transform = transform
		}
		n.compare(t, theirInformer, ourInformer)
	})
}

func TestInformerResyncsAsClientGos(t *testing.T) {
	forSeeds(t, 20, func(t *testing.T, random *rand.Rand) {
		n := informing{perObject: true, script: randomScript(random, 25)}
		n.script = slices.DeleteFunc(n.script, func(s serverStep) bool { return s.does != "change" && s.does != "bookmark" })
		n.script = append(n.script, serverStep{does: "change", changes: []func(*server){put("a")}, passes: time.Minute})
		n.options.ResyncPeriod = 6913 * time.Millisecond
		n.compare(t, theirInformer, ourInformer)
	})
}

// TestControllerBehavesAsClientGos: the controller, the DeltaFIFO and the store
// of either can be put together with those of the other.
func TestControllerBehavesAsClientGos(t *testing.T) {
	classic := func(ourController, ourQueue bool) maker {
		return func(o cache.InformerOptions, failed cache.WatchErrorHandler) (cache.Store, cache.Controller) {
			store := newKnown()
			options := cache.DeltaFIFOOptions{KnownObjects: store, EmitDeltaTypeReplaced: true}
			var queue cache.Queue = clientgo.NewDeltaFIFOWithOptions(options)
			if ourQueue {
				queue = cache.NewDeltaFIFOWithOptions(options)
			}
			process := handleDeltas(store, o.Handler)
			if ourController {
				return store, cache.New(&cache.Config{
					Queue: queue, ListerWatcher: o.ListerWatcher, ObjectType: o.ObjectType, Process: process,
					FullResyncPeriod: o.ResyncPeriod, WatchErrorHandler: failed, WatchListPageSize: 2,
				})
			}
			return store, clientgo.New(&clientgo.Config{
				Queue: queue, ListerWatcher: o.ListerWatcher, ObjectType: o.ObjectType, Process: process,
				FullResyncPeriod: o.ResyncPeriod, WatchErrorHandler: failed, WatchListPageSize: 2,
			})
		}
	}
	forSeeds(t, 40, func(t *testing.T, random *rand.Rand) {
		// What waits in a DeltaFIFO is gathered per object: the rest is chance.
		n := informing{noWatchList: random.IntN(2) == 0, perObject: true, script: randomScript(random, 25)}
		for i := range n.script {
			n.script[i].passes = 10 * time.Minute
		}
		n.compare(t, classic(false, false), classic(true, true), classic(true, false), classic(false, true))
	})
}

// handleDeltas is the loop that every walk-through of informers shows.
func handleDeltas(store cache.Store, handler cache.ResourceEventHandler) cache.ProcessFunc {
	return func(obj any, initial bool) error {
		deltas, ok := obj.(cache.Deltas)
		if !ok {
			return errors.New("not Deltas")
		}
		for _, d := range deltas {
			switch d.Type {
			case cache.Sync, cache.Replaced, cache.Added, cache.Updated:
				old, exists, err := store.Get(d.Object)
				if err != nil {
					return err
				}
				if err := store.Update(d.Object); err != nil {
					return err
				}
				if exists {
					handler.OnUpdate(old, d.Object)
				} else {
					handler.OnAdd(d.Object, initial)
				}
			case cache.Deleted:
				if err := store.Delete(d.Object); err != nil {
					return err
				}
				handler.OnDelete(d.Object)
			}
		}
		return nil
	}
}
