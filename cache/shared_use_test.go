package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinform/kinform/cache"
)

// use is something that a program does to an informer, right or wrong; it says
// what came of it.
type use func(t *testing.T, p *player, say func(format string, args ...any))

var nothing = cache.ResourceEventHandlerFuncs{}

// started runs the informer and waits for its first list.
func started(p *player) {
	run(p)
	synctest.Wait()
}

// stoppedAgain runs the informer and stops it.
func stoppedAgain(p *player) {
	started(p)
	stop(p)
	<-p.ended
}

// runUntil runs an informer until nothing happens any more, and waits for its end.
func runUntil(ctx context.Context, cancel context.CancelFunc, i cache.SharedIndexInformer) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.RunWithContext(ctx)
	}()
	synctest.Wait()
	cancel()
	<-ended
}

var uses = map[string]use{
	"a handler after stop": func(t *testing.T, p *player, say func(string, ...any)) {
		stoppedAgain(p)
		_, err := p.informer.AddEventHandler(nothing)
		say("%v", err)
		_, err = p.informer.AddEventHandlerWithResyncPeriod(nothing, time.Second)
		say("%v", err)
		_, err = p.informer.AddEventHandlerWithOptions(nil, cache.HandlerOptions{})
		say("%v", err)
	},
	"settings after start": func(t *testing.T, p *player, say func(string, ...any)) {
		started(p)
		say("%v", p.informer.SetTransform(transform))
		say("%v", p.informer.SetWatchErrorHandler(func(*clientgo.Reflector, error) {}))
		say("%v", p.informer.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler))
		stop(p)
		<-p.ended
		say("%v", p.informer.SetTransform(transform))
		say("%v", p.informer.SetWatchErrorHandler(func(*clientgo.Reflector, error) {}))
	},
	"settings twice before start": func(t *testing.T, p *player, say func(string, ...any)) {
		say("%v", p.informer.SetTransform(func(any) (any, error) { return nil, errors.New("not this one") }))
		say("%v", p.informer.SetTransform(transform))
		say("%v", p.informer.SetWatchErrorHandler(nil))
		say("%v", p.informer.SetWatchErrorHandler(func(*clientgo.Reflector, error) {}))
		started(p)
		say("%v", portraits(p.informer.GetStore().List()))
	},
	"indexers that conflict": func(t *testing.T, p *player, say func(string, ...any)) {
		say("%v", p.informer.AddIndexers(cache.Indexers{"one": byApp, "two": byApp}))
		say("%v", conflict(p.informer.AddIndexers(cache.Indexers{"two": byApp, "three": byApp})))
		say("%v", conflict(p.informer.AddIndexers(cache.Indexers{"one": byApp, "two": byApp})))
		say("%v", conflict(p.informer.GetIndexer().AddIndexers(cache.Indexers{"one": byApp})))
		started(p)
		say("%v", conflict(p.informer.AddIndexers(cache.Indexers{"two": byApp})))
		say("%v", p.informer.AddIndexers(cache.Indexers{"late": byApp}))
		say("%v", p.informer.AddIndexers(nil))
		stop(p)
		<-p.ended
		say("%v", p.informer.AddIndexers(cache.Indexers{"after": byApp}))
		say("%v", p.informer.GetIndexer().AddIndexers(cache.Indexers{"behind": byApp}))
		say("%v", describeIndex(p.informer.GetIndexer(), "behind"))
		say("%d", len(p.informer.GetIndexer().GetIndexers()))
	},
	"an index that does not exist": func(t *testing.T, p *player, say func(string, ...any)) {
		started(p)
		x := p.informer.GetIndexer()
		_, err := x.ByIndex("nope", "v")
		say("%v", err)
		_, err = x.IndexKeys("nope", "v")
		say("%v", err)
		_, err = x.Index("nope", pod("a", 1))
		say("%v", err)
		say("%d", len(x.ListIndexFuncValues("nope")))
	},
	"a second Run": func(t *testing.T, p *player, say func(string, ...any)) {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		started(p)
		p.informer.RunWithContext(klog.NewContext(t.Context(), logger)) // returns at once
		logged := logger.GetSink().(ktesting.Underlier).GetBuffer().Data()
		say("warned: %t", len(logged) == 1)
		p.informer.GetController().Run(t.Context().Done())
		say("%t %t", p.informer.IsStopped(), p.hasEnded())
		stop(p)
		<-p.ended
		p.informer.Run(t.Context().Done())
		say("%t", p.informer.IsStopped())
	},
	"Run when it is over already": func(t *testing.T, p *player, say func(string, ...any)) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		join("h")(p)
		p.informer.RunWithContext(ctx)
		say("synced=%t stopped=%t", p.informer.HasSynced(), p.informer.IsStopped())
	},
	"RemoveEventHandler": func(t *testing.T, p *player, say func(string, ...any)) {
		other := p.side.make(p.server, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
		foreign, _ := other.AddEventHandler(nothing)
		mine, _ := p.informer.AddEventHandler(nothing)
		kept, _ := p.informer.AddEventHandler(nothing)
		say("%v", p.informer.RemoveEventHandler(foreign))
		say("%v %v", p.informer.RemoveEventHandler(mine), p.informer.RemoveEventHandler(mine))
		started(p)
		say("%v %v", p.informer.RemoveEventHandler(foreign), kept.HasSynced())
		late, _ := p.informer.AddEventHandler(nothing)
		say("%v %v", p.informer.RemoveEventHandler(late), p.informer.RemoveEventHandler(late))
		stop(p)
		<-p.ended
		say("%v %v", p.informer.RemoveEventHandler(kept), p.informer.RemoveEventHandler(late))
		say("%t", p.informer.RemoveEventHandler(nil) != nil)
		say("%t", p.informer.RemoveEventHandler(strange{}) != nil)
	},
	"what a handler may call": func(t *testing.T, p *player, say func(string, ...any)) {
		var late cache.ResourceEventHandlerRegistration
		_, _ = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			if obj.(*corev1.Pod).Name != "a" {
				return
			}
			i := p.informer
			_, found, _ := i.GetStore().Get(obj)
			say("%t %t %v %v", found, i.IsStopped(), i.AddIndexers(cache.Indexers{"inside": byApp}), i.SetTransform(nil))
			late, _ = i.AddEventHandler(nothing)
			say("%v %v", i.GetIndexer().Add(pod("x", 1)), i.GetIndexer().Delete(pod("x", 1)))
		}})
		started(p)
		say("%t %d", late.HasSynced(), len(p.informer.GetStore().List()))
	},
	"a store without Run": func(t *testing.T, p *player, say func(string, ...any)) {
		x := p.informer.GetIndexer()
		say("%v", p.informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "app": byApp}))
		say("%v %v", x.Add(pod("a", 1, "app", "web")), x.Add(pod("b", 2)))
		say("%v", x.Add(&corev1.Pod{}))
		say("%v", x.Add("no object"))
		say("%v", x.Delete("no object"))
		_, _, err := x.Get("no object")
		say("%v", err)
		say("%v", x.Update(pod("a", 3, "app", "db")))
		lister := corelisters.NewPodLister(x)
		all, err := lister.List(labels.Everything())
		say("%d %v", len(all), err)
		some, err := lister.Pods("ns").List(labels.SelectorFromSet(labels.Set{"app": "db"}))
		say("%d %v", len(some), err)
		one, err := lister.Pods("ns").Get("a")
		say("%v %v", portrait(one), err)
		_, err = lister.Pods("ns").Get("nope")
		say("%v", err)
		say("%s", describeIndex(x, "app"))
		say("%v", x.Replace([]any{pod("c", 5, "app", "web"), pod("d", 6)}, "9"))
		say("%v %s", portraits(x.List()), describeIndex(x, "app"))
		say("%v", x.Delete(pod("c", 1)))
		say("%v %v", x.Delete(pod("never", 1)), x.Resync())
		say("%v %v %q", sortedStrings(x.ListKeys()), p.informer.HasSynced(), p.informer.LastSyncResourceVersion())
		say("%t", p.informer.GetStore() == cache.Store(p.informer.GetIndexer()))
	},
	"objects are the very ones": func(t *testing.T, p *player, say func(string, ...any)) {
		var told any
		_, _ = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { told = obj },
			UpdateFunc: func(old, new any) { say("old is the one before: %t", old == told); told = new },
			DeleteFunc: func(obj any) { say("deleted is the one before: %t", obj == told) },
		})
		p.server.do(remove("a"), remove("b"))
		started(p)
		for _, change := range []func(*server){put("c"), put("c"), remove("c")} {
			stored, _, _ := p.informer.GetStore().GetByKey("ns/c")
			say("stored is the one told: %t", stored == told)
			p.server.do(change)
			synctest.Wait()
		}
	},
	"WaitForCacheSync": func(t *testing.T, p *player, say func(string, ...any)) {
		over := make(chan struct{})
		close(over)
		say("before Run, over: %t", p.side.waitSync(over, p.informer.HasSynced))
		run(p)
		say("running: %t", p.side.waitSync(t.Context().Done(), p.informer.HasSynced))
		stop(p)
		<-p.ended
		say("stopped: %t", p.side.waitSync(over, p.informer.HasSynced))
		say("%s", p.informer.HasSyncedChecker().Name())
	},
	"WaitForCacheSync for one that stopped before it synced": func(t *testing.T, p *player, say func(string, ...any)) {
		p.server.do(failLists(slices.Repeat([]error{errOther}, 100)...))
		r, _ := p.informer.AddEventHandler(nothing)
		stoppedAgain(p)
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		say("%t %t after %v", p.side.waitSync(soon.Done(), p.informer.HasSynced, r.HasSynced), r.HasSynced(), time.Since(start))
	},
	"names of checkers": func(t *testing.T, p *player, say func(string, ...any)) {
		join("h")(p)
		say("%s", p.handlers["h"].registration.HasSyncedChecker().Name())
		for _, h := range []cache.ResourceEventHandler{nothing, &nothing, cache.ResourceEventHandlerDetailedFuncs{}, cache.FilteringResourceEventHandler{},
			cache.ResourceEventHandlerFuncs{AddFunc: addNothing, DeleteFunc: addNothing}} {
			r, err := p.informer.AddEventHandler(h)
			say("%s %v", r.HasSyncedChecker().Name(), err)
		}
	},
	"a context in the error handler": func(t *testing.T, p *player, say func(string, ...any)) {
		type mark struct{}
		p.server.do(failLists(errOther))
		_ = p.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *clientgo.Reflector, err error) {
			say("%v %s %v", ctx.Value(mark{}), r.TypeDescription(), errors.Is(err, errOther))
		})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), mark{}, "mine"))
		runUntil(ctx, cancel, p.informer)
	},
	"no objects are described": func(t *testing.T, p *player, say func(string, ...any)) {
		i := p.side.make(p.server, nil, cache.SharedIndexInformerOptions{ObjectDescription: "things"})
		ctx, cancel := context.WithCancel(t.Context())
		runUntil(ctx, cancel, i)
		say("%v %s", portraits(i.GetStore().List()), i.HasSyncedChecker().Name())
	},
}

func addNothing(any) {}

// conflict cuts off which names conflict: client-go shows a map there.
func conflict(err error) string {
	words, _, _ := strings.Cut(err.Error(), ": ")
	return words
}

// strange is no registration of anybody's.
type strange struct {
	cache.ResourceEventHandlerRegistration
}

// TestUseIsAnsweredAsByClientGo: whatever a program does to an informer, right or
// wrong, it gets the same answer, in the same words.
func TestUseIsAnsweredAsByClientGo(t *testing.T) {
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			want, got := use.by(t, theirs), use.by(t, ours)
			if !slices.Equal(want, got) {
				t.Errorf("client-go (-) and kinform (+) differ:\n%s", lineDiff(want, got))
			}
		})
	}
}

// newPlayer is for whoever has no story: an informer that was not run, of a server with three pods.
func newPlayer(t *testing.T, s side) *player {
	p := &player{t: t, side: s, handlers: map[string]*listener{}, log: newTrace(), start: time.Now(), cancel: func() {}}
	p.server = newServer(newTrace())
	p.server.noWatchList = true
	p.server.do(three)
	p.informer = s.make(p.server, &corev1.Pod{}, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}})
	return p
}

func (u use) by(t *testing.T, s side) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(t, s)
		u(t, p, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
		stop(p)
		if p.ended != nil {
			<-p.ended
		}
	})
	return lines
}
