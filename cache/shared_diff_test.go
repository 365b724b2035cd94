package cache_test

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
)

// long is longer than all pauses after failures, and no multiple of kinform's patience
// with silent servers.
const long = 11*time.Minute + 7*time.Second

// settled is long enough for what does not fail.
const settled = 3 * time.Second

var (
	errInternal = apierrors.NewInternalError(errors.New("etcd has no leader"))
	errBusy     = apierrors.NewTooManyRequests("busy", 1)
	errRefused  = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	errOther    = errors.New("no route")
)

func three(s *server) {
	put("a", "app", "web")(s)
	put("b", "app", "db")(s)
	put("c")(s)
}

func byApp(obj any) ([]string, error) {
	if app := obj.(*corev1.Pod).Labels["app"]; app != "" {
		return []string{app}, nil
	}
	return nil, nil
}

func byNames(obj any) ([]string, error) {
	p := obj.(*corev1.Pod)
	return []string{p.Name, p.Labels["app"], p.Name}, nil
}

// putUID is put with an identity.
func putUID(name, uid string) func(*server) {
	return func(s *server) {
		t := watch.Added
		if s.pods[name] != nil {
			t = watch.Modified
		}
		s.version++
		s.pods[name] = pod(name, s.version)
		s.pods[name].UID = types.UID(uid)
		s.happenedLocked(t, s.pods[name])
	}
}

func addIndex(name string, f cache.IndexFunc) func(*player) {
	return func(p *player) {
		p.log.note("add index %s: %v", name, p.informer.AddIndexers(cache.Indexers{name: f}) == nil)
	}
}

// edit writes to the store behind the informer's back.
func edit(f func(cache.Indexer) error) func(*player) {
	return func(p *player) {
		if err := f(p.informer.GetIndexer()); err != nil {
			p.log.note("edit: %v", err)
		}
	}
}

func setTransform(f cache.TransformFunc) func(*player) {
	return func(p *player) {
		if err := p.informer.SetTransform(f); err != nil {
			p.t.Error(err)
		}
	}
}

func joins(p *player) { join("h")(p) }

// stories are played to both; all that can be seen is the same.
var stories = map[string]story{
	"add, update, delete": {
		server: three, informer: joins, ordered: true, times: true,
		script: []moment{
			{"add", []func(*player){on(put("d"))}, settled},
			{"update twice, at once", []func(*player){on(put("a"), put("a"))}, settled},
			{"delete", []func(*player){on(remove("b"))}, settled},
			{"all of it at once", []func(*player){on(put("e"), put("e"), remove("e"), put("e"), remove("a"), put("a"))}, settled},
		},
	},
	"an empty server": {
		informer: joins, server: bookmark,
		script: []moment{{"the first", []func(*player){on(put("a"))}, settled}},
	},
	"no handler": {
		server: three,
		script: []moment{{"change", []func(*player){on(put("a"), remove("b"))}, settled}},
	},
	"bookmarks": {
		server: three, informer: joins,
		script: []moment{
			{"bookmark", []func(*player){on(bookmark)}, settled},
			{"cut off after a bookmark", []func(*player){on(bookmark, disconnect, put("a"))}, long},
		},
	},
	"disconnects": {
		server: three, informer: joins, ordered: true,
		script: []moment{
			{"time passes", nil, settled},
			{"disconnect", []func(*player){on(disconnect)}, settled},
			{"change", []func(*player){on(put("a"))}, settled},
			{"change while disconnected", []func(*player){on(disconnect, put("a"), remove("b"), put("d"))}, long},
			{"events, then the end", []func(*player){on(put("a"), disconnect)}, long},
		},
	},
	"relists": {
		server: three, informer: joins, quiet: true,
		script: []moment{
			{"the version is forgotten", []func(*player){on(disconnect, put("a"), remove("b"), put("d"), put("e"), remove("e"), forget)}, long},
			{"an error event says so", []func(*player){on(breakWith(expired()), remove("a"), put("b"))}, long},
			{"nothing changed meanwhile", []func(*player){on(breakWith(expired()))}, long},
			{"everything is gone", []func(*player){on(remove("b"), disconnect, remove("c"), remove("d"), forget)}, long},
			{"and comes again", []func(*player){on(put("a"), put("b"))}, settled},
		},
	},
	"lists that fail": {
		listOnly: true,
		informer: joins, quiet: true,
		server: func(s *server) { three(s); failLists(errInternal, errRefused, errOther)(s) },
		script: []moment{
			{"meanwhile", nil, long},
			{"again", []func(*player){on(failLists(errOther, errBusy), disconnect, put("a"), forget)}, long},
			{"the version is too old for lists, too", []func(*player){on(failLists(expired()), disconnect, remove("a"), forget)}, long},
		},
	},
	"the watch error handler": {
		listOnly: true, errors: true, quiet: true, informer: joins,
		server: func(s *server) { three(s); failLists(errInternal, errOther, errRefused, errBusy)(s) },
		script: []moment{
			{"begin", nil, long},
			{"a watch that is over", []func(*player){on(disconnect)}, long},
			{"a version that is forgotten", []func(*player){on(breakWith(expired()))}, long},
		},
	},
	"watches that fail": {
		server: three, informer: joins, quiet: true,
		script: []moment{
			{"refused", []func(*player){on(failWatches(errRefused, errRefused), disconnect)}, long},
			{"change", []func(*player){on(put("a"))}, settled},
			{"throttled", []func(*player){on(failWatches(errBusy), disconnect)}, long},
			{"change", []func(*player){on(put("a"))}, settled},
			{"error event: internal", []func(*player){on(breakWith(errInternal))}, long},
			{"change", []func(*player){on(put("a"))}, settled},
			{"error event: throttled", []func(*player){on(breakWith(errBusy))}, long},
			{"change", []func(*player){on(put("a"))}, settled},
			{"error event: bad request", []func(*player){on(breakWith(apierrors.NewBadRequest("bad")))}, long},
			{"change", []func(*player){on(remove("a"))}, settled},
		},
	},
	"events before an error": {
		server: three, informer: joins, quiet: true,
		script: []moment{
			{"change and break", []func(*player){on(put("a"), put("d"), breakWith(errInternal))}, long},
			{"change and expire", []func(*player){on(put("a"), remove("d"), breakWith(expired()))}, long},
		},
	},
	"strange events": {
		objectsOnly: true,
		server:      three, informer: joins, quiet: true,
		script: []moment{
			{"of another type", []func(*player){on(send(watch.Added, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), put("a"))}, long},
			{"added what is there", []func(*player){on(func(s *server) {
				s.version++
				p := pod("a", s.version)
				s.pods["a"] = p
				s.happenedLocked(watch.Added, p)
			})}, long},
			{"modified what is not there", []func(*player){on(func(s *server) {
				s.version++
				p := pod("z", s.version)
				s.pods["z"] = p
				s.happenedLocked(watch.Modified, p)
			})}, long},
			{"change", []func(*player){on(put("a"))}, settled},
		},
	},
	"recreated before everybody's eyes": {
		informer: joins, ordered: true,
		server: func(s *server) { putUID("a", "1")(s); putUID("b", "2")(s) },
		script: []moment{
			{"recreate", []func(*player){on(remove("a"), putUID("a", "3"))}, settled},
			{"while disconnected", []func(*player){on(disconnect, remove("b"), putUID("b", "4"))}, long},
		},
	},
	"late handlers": {
		server: three, informer: join("first"),
		script: []moment{
			{"join", []func(*player){join("late")}, settled},
			{"change", []func(*player){on(put("a"), remove("b"))}, settled},
			{"relist", []func(*player){on(disconnect, remove("c"), put("d"), forget)}, long},
			{"join", []func(*player){join("later")}, settled},
		},
		quiet: true,
	},
	"handlers that leave": {
		server: three,
		informer: func(p *player) {
			join("stays")(p)
			join("leaves")(p)
			join("never")(p)
			leave("never")(p)
		},
		script: []moment{
			{"leave", []func(*player){leave("leaves")}, settled},
			{"change", []func(*player){on(put("a"), remove("b"))}, settled},
			{"leave again", []func(*player){leave("leaves"), leave("never")}, settled},
		},
	},
	"a handler that leaves while it is called": {
		server: three,
		informer: func(p *player) {
			join("h")(p)
			join("other")(p)
			p.handlers["h"].during = func(call string) {
				if call == "added d@4 initial=false" {
					leave("h")(p)
				}
			}
		},
		script: []moment{
			{"change", []func(*player){on(put("d"))}, settled},
			{"change", []func(*player){on(put("e"))}, settled},
		},
	},
	"slow handlers": {
		listOnly: true,
		server:   three,
		informer: func(p *player) {
			join("fast")(p)
			join("slow")(p)
			hold("slow")(p)
		},
		ordered: true,
		script: []moment{
			{"change", []func(*player){on(put("a"), put("a"), remove("b"))}, settled},
			{"let", []func(*player){let("slow")}, settled},
			{"hold", []func(*player){hold("slow"), on(put("a"))}, settled},
			{"change", []func(*player){on(put("a"), remove("c"), put("c"), put("d"), remove("d"))}, settled},
			{"let", []func(*player){let("slow")}, settled},
		},
	},
	"a slow handler leaves with calls waiting": {
		listOnly: true,
		server:   three,
		informer: func(p *player) { join("slow")(p); hold("slow")(p) },
		script: []moment{
			{"change", []func(*player){on(put("a"), put("b"))}, settled},
			{"leave", []func(*player){leave("slow")}, settled},
			{"let", []func(*player){let("slow")}, settled},
		},
		ordered: true,
	},
	"stopped with calls waiting": {
		listOnly: true,
		server:   three,
		informer: func(p *player) { join("slow")(p); hold("slow")(p) },
		ordered:  true,
		script: []moment{
			{"change", []func(*player){on(put("a"), put("b"))}, settled},
			{"stop", []func(*player){stop}, settled},
			{"join", []func(*player){join("late")}, settled},
			{"let", []func(*player){let("slow")}, settled},
		},
	},
	"stopped before it synced": {
		listOnly: true,
		server:   func(s *server) { failLists(errOther, errOther, errOther, errOther)(s) },
		informer: joins,
		script:   []moment{{"stop", []func(*player){stop}, long}},
	},
	"objects of another kind": {
		example: kinded("v1", "Pod", ""), objectsOnly: true, listOnly: true,
		informer: joins, server: bookmark,
		script: []moment{
			{"right", []func(*player){on(send(watch.Added, kinded("v1", "Pod", "a")))}, settled},
			{"another version", []func(*player){on(send(watch.Added, kinded("v2", "Pod", "b")))}, settled},
			{"none", []func(*player){on(send(watch.Added, kinded("", "", "c")))}, settled},
		},
	},
	"indexes": {
		server: three, informer: joins,
		options: cache.SharedIndexInformerOptions{Indexers: cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "app": byApp, "names": byNames,
		}},
		script: []moment{
			{"values change", []func(*player){on(put("a", "app", "db"), put("c", "app", "web"), remove("b"))}, settled},
			{"and go", []func(*player){on(put("a"), put("c"))}, settled},
			{"relist", []func(*player){on(disconnect, put("c", "app", "x"), remove("a"), put("d", "app", "x"), forget)}, long},
		},
		quiet: true,
	},
	"indexes that come later": {
		server:   three,
		informer: func(p *player) { addIndex("app", byApp)(p); join("h")(p) },
		script: []moment{
			{"another", []func(*player){addIndex("names", byNames)}, settled},
			{"one that is there", []func(*player){addIndex("app", byNames)}, settled},
			{"values change", []func(*player){on(put("a", "app", "db"), put("d"), remove("b"))}, settled},
			{"stop", []func(*player){stop}, settled},
			{"too late", []func(*player){addIndex("late", byApp)}, settled},
		},
	},
	"a transform": {
		listOnly: true,
		server:   three, quiet: true,
		informer: func(p *player) { setTransform(transform)(p); join("h")(p) },
		options:  cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byApp}},
		script: []moment{
			{"change", []func(*player){on(put("a", "app", "db"), remove("b"))}, settled},
			{"join", []func(*player){join("late")}, settled},
			{"relist", []func(*player){on(disconnect, put("c"), remove("a"), forget)}, long},
		},
	},
	"a transform that gives nothing": {
		server: three, quiet: true, listOnly: true, edits: true, objectsOnly: true,
		informer: func(p *player) {
			setTransform(func(obj any) (any, error) {
				if obj.(*corev1.Pod).Name == "x" {
					return nil, nil
				}
				return obj, nil
			})(p)
			join("h")(p)
		},
		script: []moment{
			{"x", []func(*player){on(put("x"))}, settled},
			{"y", []func(*player){on(put("y"))}, settled},
			{"x again", []func(*player){on(put("x"), remove("x"))}, settled},
		},
	},
	"a store that is written to": {
		edits:  true,
		server: three, quiet: true,
		informer: func(p *player) { join("h")(p) },
		options:  cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byApp}},
		script: []moment{
			{"add", []func(*player){edit(func(x cache.Indexer) error { return x.Add(pod("x", 1, "app", "x")) })}, settled},
			{"join", []func(*player){join("late")}, settled},
			{"update", []func(*player){edit(func(x cache.Indexer) error { return x.Update(pod("a", 1000, "app", "x")) })}, settled},
			{"delete", []func(*player){edit(func(x cache.Indexer) error { return x.Delete(pod("b", 1)) })}, settled},
			{"delete by tombstone", []func(*player){edit(func(x cache.Indexer) error { return x.Delete(cache.DeletedFinalStateUnknown{Key: "ns/c"}) })}, settled},
			{"the server changes the same", []func(*player){on(put("x"), put("b"), put("c"))}, settled},
			{"replace", []func(*player){edit(func(x cache.Indexer) error { return x.Replace([]any{pod("y", 1, "app", "y"), pod("b", 5)}, "7") })}, settled},
			{"relist", []func(*player){on(disconnect, forget)}, long},
		},
	},
	"resyncs": {
		server: three, times: true,
		options: cache.SharedIndexInformerOptions{ResyncPeriod: 30 * time.Second},
		informer: func(p *player) {
			join("default")(p)
			join("never", every(0))(p)
			join("hourly", every(time.Hour))(p)
		},
		script: []moment{
			{"time passes", nil, 100 * time.Second},
			{"change", []func(*player){on(put("a"), remove("b"))}, 100 * time.Second},
			{"leave", []func(*player){leave("default")}, time.Hour},
		},
	},
	"resyncs of many periods": {
		server: three, times: true,
		options: cache.SharedIndexInformerOptions{ResyncPeriod: 30 * time.Second},
		informer: func(p *player) {
			join("default")(p)
			join("ten", every(10*time.Second))(p)
			join("25", every(25*time.Second))(p)
			join("short", every(time.Millisecond))(p)
		},
		script: []moment{
			{"time passes", nil, 100 * time.Second},
		},
	},
	"resync periods are rounded": {
		server: three, times: true,
		options: cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: func(p *player) {
			join("25", every(25*time.Second))(p)
			join("30", every(30*time.Second))(p)
		},
		script: []moment{{"time passes", nil, 100 * time.Second}},
	},
	"late handlers that resync": {
		server: three, times: true,
		options: cache.SharedIndexInformerOptions{ResyncPeriod: 7 * time.Second},
		script: []moment{
			{"time passes", nil, 10 * time.Second},
			{"join", []func(*player){join("default"), join("short", every(2*time.Second)), join("long", every(20*time.Second))}, 100 * time.Second},
		},
	},
	"no resyncs, whatever handlers want": {
		server: three, times: true,
		informer: join("h", every(5*time.Second)),
		script:   []moment{{"time passes", nil, 100 * time.Second}},
	},
	"resyncs through a disconnect": {
		server: three, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 7 * time.Second},
		informer: joins,
		script: []moment{
			{"time passes", nil, settled},
			{"disconnect", []func(*player){on(disconnect)}, 30 * time.Second},
			{"change", []func(*player){on(put("a"))}, 30 * time.Second},
		},
	},
	"a slow handler and resyncs": {
		server: three, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: joins,
		script: []moment{
			{"hold", []func(*player){hold("h"), on(put("a"))}, 15 * time.Second},
			{"let", []func(*player){let("h")}, 25 * time.Second},
		},
	},
}

func TestSharedInformerBehavesAsClientGos(t *testing.T) {
	for name, story := range stories {
		for _, watchList := range []bool{false, true} {
			if story.listOnly && watchList {
				continue
			}
			t.Run(name+"/watchList="+strconv.FormatBool(watchList), func(t *testing.T) {
				story.watch = watchList
				story.compare(t)
			})
		}
	}
}

// kindOf tells what kind of error it is, whatever the words.
func kindOf(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, errOther):
		return "other"
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return string(apierrors.ReasonForError(err))
	}
	return err.Error()
}
