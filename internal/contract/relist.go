package contract

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// Point 5: a relist is atomic to readers, keeps what has not changed as it is,
// reports what vanished as Deleted with FinalStateUnknown, and delivers to subscribers
// only what differs.
var relisting = []story{
	{"what differs is delivered, the rest is kept as it is", relistDelivers},
	{"readers see all of the old or all of the new", relistIsAtomic},
}

func relistDelivers(e *env) {
	same := names("same", 5)
	e.seed("1", append(slices.Clone(same), "changed", "deleted", "recreated")...)
	seen := e.onServer()

	cfg, proxy := e.proxied()
	var stays []*stay
	for name, o := range map[string]kinform.Options{
		"default": {}, "paged": {PageSize: 3}, "JSON": {JSON: true}, "watch list": {WatchList: true},
	} {
		inf := e.informer(cfg, o)
		s := &stay{inf: inf, w: e.subscribe(inf, name, subscribed{})}
		e.sync(inf)
		e.must(s.w.sub.WaitSynced(e.ctx), "waiting for "+name)
		s.mark = s.w.mark()
		s.before = maps.Collect(inf.Lister().All())
		stays = append(stays, s)
	}

	e.disconnect(proxy)
	e.update("changed", "2")
	changed := e.update("changed", "3")
	e.delete("deleted")
	recreated := e.recreate("recreated", "4")
	created := e.create("created", "5")
	e.create("came-and-went", "")
	e.delete("came-and-went")
	e.expire()
	e.reconnect(proxy)

	want := map[string][]delivery{
		"changed":   {updated(seen[e.key("changed")], changed)},
		"deleted":   {vanished(seen[e.key("deleted")])},
		"recreated": {vanished(seen[e.key("recreated")]), deliveryOf(kinform.EventAdded, recreated)},
		"created":   {deliveryOf(kinform.EventAdded, created)},
	}
	for _, s := range stays {
		s.w.receives(created)
	}
	end := e.create("the-end", "")
	want["the-end"] = []delivery{deliveryOf(kinform.EventAdded, end)}
	server := e.onServer()
	for _, s := range stays {
		s.w.receives(end)
		s.w.wantDelivered(s.mark, want)
		s.w.wantServer(server)
		e.wantStore(s.inf, server)
		if n := s.inf.Status().Sources[0].Expired; n == 0 {
			e.Errorf("%s: the version had not expired, so nothing was shown", s.w.name)
		}
		for _, name := range same {
			if o, err := s.inf.Lister().Get(e.key(name)); err != nil || o != s.before[e.key(name)] {
				e.Errorf("%s: %s is another object after the relist (%v)", s.w.name, name, err)
			}
		}
	}
}

// stay is an informer that was there before something happened.
type stay struct {
	inf    *informer
	ix     kinform.Index[object]
	w      *witness
	mark   int
	before map[string]object
}

// updated is how a change is delivered.
func updated(from, to object) delivery {
	t := deliveryOf(kinform.EventUpdated, to)
	t.old = from.ResourceVersion
	return t
}

// vanished is how a deletion is delivered that nobody saw.
func vanished(last object) delivery {
	t := deliveryOf(kinform.EventDeleted, last)
	t.old, t.final = last.ResourceVersion, true
	return t
}

// wantDelivered fails unless a witness got these events of these objects of the
// story, by name, and nothing else, since a mark.
func (w *witness) wantDelivered(mark int, want map[string][]delivery) {
	w.e.Helper()
	got := byKey(w.since(mark))
	for name, events := range want {
		key := w.e.key(name)
		if !slices.Equal(got[key], events) {
			w.e.Errorf("%s: got %s %v, want %v", w.name, name, got[key], events)
		}
		delete(got, key)
	}
	for key, events := range got {
		w.e.Errorf("%s: got %s %v, want nothing", w.name, key, events)
	}
}

// relistIsAtomic has readers look while all objects of a namespace change in one
// relist: in a small one, and in one that is too large to be made in place.
func relistIsAtomic(e *env) {
	small, large := *e, *e
	large.ns = e.newNamespace()
	cfg, proxy := e.proxied()
	generations := []*generation{
		newGeneration(&small, cfg, 40),
		newGeneration(&large, cfg, 640),
	}
	e.disconnect(proxy)
	for _, g := range generations {
		g.replace()
	}
	e.expire()
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for _, g := range generations {
		for _, look := range g.looks() {
			readers.Go(func() { again(look, stop) })
		}
	}
	e.reconnect(proxy)
	for _, g := range generations {
		g.await()
	}
	close(stop)
	readers.Wait()
	for _, g := range generations {
		g.wantNew()
	}
}

// generation is a namespace whose objects are all replaced at once: first all
// have the value "old", then all have "new", and they are fewer.
type generation struct {
	e        *env
	inf      *informer
	w        *witness
	ix       kinform.Index[object]
	old, new []string
	rest     func() (string, object, bool) // a reader that has read one object
}

func newGeneration(e *env, cfg *rest.Config, n int) *generation {
	e.Helper()
	g := &generation{e: e, old: names("o", n)}
	e.seed("old", g.old...)
	g.inf = e.informer(cfg, kinform.Options{})
	g.ix = e.index(g.inf, "value", func(o object) []string { return []string{o.Data[value]} })
	g.w = e.subscribe(g.inf, fmt.Sprintf("witness of %d", n), subscribed{})
	e.sync(g.inf)
	e.must(g.w.sub.WaitSynced(e.ctx), "waiting for the witness")
	next, stop := iter.Pull2(g.inf.Lister().All())
	e.Cleanup(stop)
	if _, o, ok := next(); !ok || o.Data[value] != "old" {
		e.Fatalf("the first object is %v", o)
	}
	g.rest = next
	return g
}

// replace deletes the first objects, and changes all others.
func (g *generation) replace() {
	g.e.Helper()
	gone := 3
	for _, name := range g.old[:gone] {
		g.e.delete(name)
	}
	g.new = g.old[gone:]
	g.e.updateAll("new", g.new...)
}

// looks are the ways to look at the whole set; every look is at one moment.
func (g *generation) looks() []func() {
	lister := g.inf.Lister()
	return []func(){
		func() { g.check("Lister.All", values(lister.All())) },
		func() { g.check("Lister.Namespace", values(lister.Namespace(g.e.ns).All())) },
		func() { g.checkKeys("old", len(g.old)) },
		func() { g.checkKeys("new", len(g.new)) },
	}
}

// again does something until it is stopped.
func again(do func(), stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			do()
		}
	}
}

func (g *generation) checkKeys(v string, all int) {
	n := 0
	for range g.ix.Keys(v) {
		n++
	}
	if n != 0 && n != all {
		g.e.Errorf("the index gives %d of %d %s objects at one moment", n, all, v)
	}
}

func values(objects iter.Seq2[string, object]) map[string]int {
	n := map[string]int{}
	for _, o := range objects {
		n[o.Data[value]]++
	}
	return n
}

func (g *generation) check(by string, n map[string]int) {
	if !maps.Equal(n, map[string]int{"old": len(g.old)}) && !maps.Equal(n, map[string]int{"new": len(g.new)}) {
		g.e.Errorf("%s gives %v at one moment, want %d old ones or %d new ones", by, n, len(g.old), len(g.new))
	}
}

// await waits until the witness got every new object.
func (g *generation) await() {
	g.e.Helper()
	g.w.until("the new generation", func() bool {
		n := 0
		for _, t := range g.w.state {
			if t.value == "new" {
				n++
			}
		}
		return n == len(g.new)
	})
}

func (g *generation) wantNew() {
	g.e.Helper()
	server := g.e.onServer()
	g.e.wantStore(g.inf, server)
	g.w.wantServer(server)
	n := 1
	for {
		_, o, ok := g.rest()
		if !ok {
			break
		}
		n++
		if o.Data[value] != "old" {
			g.e.Errorf("a reader that began before the relist finds %s, which is %s", keyOf(o), o.Data[value])
		}
	}
	if n != len(g.old) {
		g.e.Errorf("a reader that began before the relist finds %d of %d objects", n, len(g.old))
	}
	if g.inf.Status().Sources[0].Expired == 0 {
		g.e.Error("the version had not expired, so nothing was shown")
	}
}
