package contract

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/kinform/kinform"
)

// Point 7: slow subscribers cost what the live objects cost. Every event is
// delivered while at most Limit wait; beyond that, or always with Latest, states
// in the middle are merged per object: Old is the state last delivered, New the
// newest. A slow or panicking subscriber does not touch the others.
var slow = []story{
	{"every event is delivered while at most Limit wait", everyEvent},
	{"every event is delivered again after some were merged", everyEventAgain},
	{"beyond the limit, what waits is bounded by the live objects", boundedQueue},
	{"states in the middle are merged beyond the limit", mergedByLimit},
	{"states in the middle are merged with Latest", mergedByLatest},
	{"Latest merges what the handler has not got to", latestOfInitial},
	{"a panicking subscriber goes on and does not touch the others", panicking},
	{"a panic in the initial list does not keep it from syncing", panickingFirst},
	{"a handler that ends its goroutine goes on", goexiting},
}

// stuck is a subscriber whose handler stays in its call for the object "gate",
// and one beside it that goes on.
type stuck struct {
	slow, quick *witness
	inf         *informer
	gate        *hold
	mark        int
}

func newStuck(e *env, o subscribed) *stuck {
	e.Helper()
	inf := e.informer(e.config(), kinform.Options{})
	s := &stuck{inf: inf, slow: e.subscribe(inf, "slow", o), quick: e.subscribe(inf, "quick", subscribed{})}
	e.sync(inf)
	e.must(s.slow.sub.WaitSynced(e.ctx), "waiting for the slow one")
	s.gate = s.slow.hold(of(e.key("gate")))
	e.create("gate", "")
	e.await(s.gate.entered, "the slow handler to be called")
	s.mark = s.slow.mark()
	return s
}

// catchUp lets the slow one go on, and waits until it knows of an end.
func (s *stuck) catchUp(end object) []delivery {
	s.slow.e.Helper()
	s.gate.release()
	s.slow.receives(end)
	return s.slow.since(s.mark)
}

func everyEvent(e *env) {
	e.create("o", "0")
	s := newStuck(e, subscribed{Limit: 50})
	const steps = 40
	for i := range steps {
		e.update("o", fmt.Sprint(i+1))
	}
	end := e.create("the-end", "")
	s.quick.receives(end)
	if st := s.slow.status(s.inf); st.Waiting != steps+1 || st.Merged != 0 {
		e.Errorf("%d wait and %d are merged, want %d and none", st.Waiting, st.Merged, steps+1)
	}
	got := byKey(s.catchUp(end))[e.key("o")]
	if len(got) != steps {
		e.Fatalf("got %d of %d steps: %v", len(got), steps, got)
	}
	for i, t := range got {
		if t.kind != kinform.EventUpdated || t.value != fmt.Sprint(i+1) {
			e.Errorf("step %d is %v with the value %s", i+1, t, t.value)
		}
	}
}

// everyEventAgain merges once, and then stays below the limit.
func everyEventAgain(e *env) {
	e.create("o", "")
	s := newStuck(e, subscribed{Limit: 10})
	for i := range 60 {
		e.update("o", fmt.Sprint("flood ", i))
	}
	end := e.create("the-end", "")
	s.quick.receives(end)
	if st := s.slow.status(s.inf); st.Merged == 0 {
		e.Errorf("nothing was merged of 60 changes with a limit of 10: %+v", st)
	}
	s.catchUp(end)

	gate := s.slow.hold(of(e.key("gate")))
	e.update("gate", "again")
	e.await(gate.entered, "the slow handler to be called again")
	mark := s.slow.mark()
	const steps = 8
	for i := range steps {
		e.update("o", fmt.Sprint(i))
	}
	last := e.create("after-the-end", "")
	s.quick.receives(last)
	gate.release()
	s.slow.receives(last)
	if got := byKey(s.slow.since(mark))[e.key("o")]; len(got) != steps {
		e.Errorf("got %d of %d steps below the limit: %v", len(got), steps, got)
	}
}

func boundedQueue(e *env) {
	const live, steps, limit = 4, 240, 10
	objects := names("o", live)
	e.seed("0", objects...)
	s := newStuck(e, subscribed{Limit: limit})
	c := &churn{e: e, names: objects, writers: 4, steps: steps / 4}
	c.run()
	end := e.create("the-end", "")
	s.quick.receives(end)
	// Per object at most an end and a new beginning; the limit again on top, as
	// merging pays only now and then.
	most := 2 * max(limit, 2*(live+1))
	st := s.slow.status(s.inf)
	if st.Waiting > most || st.Merged == 0 {
		e.Errorf("%d wait and %d are merged after %d changes, want at most %d to wait", st.Waiting, st.Merged, steps, most)
	}
	if got := s.catchUp(end); len(got) > most {
		e.Errorf("got %d things, want at most %d: %v", len(got), most, got)
	}
	s.slow.wantServer(e.onServer())
	s.quick.wantServer(e.onServer())
}

func mergedByLatest(e *env) { merged(e, subscribed{Latest: true}, func() {}) }

// mergedByLimit goes on until merging has paid again.
func mergedByLimit(e *env) {
	e.create("flood", "")
	merged(e, subscribed{Limit: 1}, func() {
		for i := range 100 {
			e.update("flood", fmt.Sprint(i))
		}
	})
}

// merged does to each object what a slow subscriber may miss, and more of it.
func merged(e *env, o subscribed, more func()) {
	e.seed("0", "updated", "deleted", "recreated", "renewed", "back-and-gone", "untouched")
	seen := e.onServer()
	s := newStuck(e, o)

	e.update("updated", "1")
	e.update("updated", "2")
	three := e.update("updated", "3")
	e.create("added", "1")
	added := e.update("added", "2")
	e.create("came-and-went", "1")
	e.update("came-and-went", "2")
	e.delete("came-and-went")
	e.update("deleted", "1")
	e.delete("deleted")
	recreated := e.recreate("recreated", "1")
	e.recreate("renewed", "1")
	renewed := e.update("renewed", "2")
	e.delete("back-and-gone")
	e.create("back-and-gone", "1")
	e.delete("back-and-gone")
	more()
	end := e.create("the-end", "")
	s.quick.receives(end)
	truth := byKey(s.quick.since(0))

	flood := byKey(s.catchUp(end))[e.key("flood")]
	if len(flood) > 50 {
		e.Errorf("got %d of 100 changes of one object", len(flood))
	}
	s.slow.wantDelivered(s.mark, map[string][]delivery{
		"flood":         flood,
		"updated":       {updated(seen[e.key("updated")], three)},
		"added":         {deliveryOf(kinform.EventAdded, added)},
		"deleted":       {deletedFrom(seen[e.key("deleted")], last(truth[e.key("deleted")]))},
		"recreated":     {deletedFrom(seen[e.key("recreated")], truth[e.key("recreated")][1]), deliveryOf(kinform.EventAdded, recreated)},
		"renewed":       {deletedFrom(seen[e.key("renewed")], truth[e.key("renewed")][1]), deliveryOf(kinform.EventAdded, renewed)},
		"back-and-gone": {deletedFrom(seen[e.key("back-and-gone")], truth[e.key("back-and-gone")][1])},
		"the-end":       {deliveryOf(kinform.EventAdded, end)},
	})
	server := e.onServer()
	s.slow.wantServer(server)
	s.quick.wantServer(server)
}

// deletedFrom is how a merged deletion is delivered: the end as it was, the state before
// as it was last delivered.
func deletedFrom(before object, end delivery) delivery {
	end.old = before.ResourceVersion
	return end
}

func last(events []delivery) delivery { return events[len(events)-1] }

// latestOfInitial changes an object that waits behind the handler's first call.
func latestOfInitial(e *env) {
	e.seed("0", names("o", 5)...)
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "latest", subscribed{Latest: true})
	first := w.hold(nth(1))
	quick := e.subscribe(inf, "quick", subscribed{})
	e.sync(inf)
	e.await(first.entered, "the first object")
	var busy string
	w.look(func() { busy = strings.TrimPrefix(w.events[0].key, e.ns+"/") })

	want := map[string][]delivery{}
	for _, name := range names("o", 5) {
		if name != busy {
			e.update(name, "1")
			t := deliveryOf(kinform.EventAdded, e.update(name, "2"))
			t.initial = true
			want[name] = []delivery{t}
		}
	}
	end := e.create("the-end", "")
	want["the-end"] = []delivery{deliveryOf(kinform.EventAdded, end)}
	quick.receives(end)
	first.release()
	w.receives(end)
	w.wantDelivered(1, want)
}

func panicking(e *env) {
	e.seed("0", "good", "bad")
	inf := e.informer(e.config(), kinform.Options{})
	type report struct {
		key   string
		value any
		stack []byte
	}
	reports := make(chan report, 10)
	panics := func(got chan<- delivery) func(context.Context, eventOf) {
		return func(_ context.Context, ev eventOf) {
			if o, err := ev.New(); err == nil && o.Data[value] == "panic" {
				panic("no " + ev.Key)
			}
			if t, err := deliveredBy(ev); err == nil {
				got <- t
			}
		}
	}
	got := []chan delivery{make(chan delivery, 10), make(chan delivery, 10)}
	inf.Subscribe(panics(got[0]), subscribed{Name: "reported", OnPanic: func(key string, value any, stack []byte) {
		reports <- report{key, value, stack}
	}})
	inf.Subscribe(panics(got[1]), subscribed{Name: "logged"})
	calm := e.subscribe(inf, "calm", subscribed{})
	e.sync(inf)

	bad := e.update("bad", "panic")
	after := e.update("good", "1")
	calm.receives(after)
	// Both that panicked got the two initial objects, and go on.
	for _, got := range got {
		for i := range 3 {
			t := receive(e, got, "a handler that panicked to be called again")
			if i == 2 && t.version != after.ResourceVersion {
				e.Errorf("after the panic came %v, want %s@%s", t, keyOf(after), after.ResourceVersion)
			}
		}
	}
	r := receive(e, reports, "the report of a panic")
	if r.key != keyOf(bad) || r.value != "no "+keyOf(bad) || !strings.Contains(string(r.stack), "panicking") {
		e.Errorf("OnPanic was given %q, %v, with the stack\n%s", r.key, r.value, r.stack)
	}
	e.awaitLine(0, "panicked", func(ln line) bool {
		return ln.values["subscriber"] == "logged" && ln.values["key"] == keyOf(bad) && strings.Contains(ln.values["panic"], "no "+keyOf(bad))
	})
	for i, want := range []uint64{1, 1, 0} {
		if st := inf.Status().Subscribers[i]; st.Panics != want {
			e.Errorf("Status counts %d panics of the subscriber %q, want %d", st.Panics, st.Name, want)
		}
	}
	calm.wantServer(e.onServer())
}

func panickingFirst(e *env) {
	all := names("o", 4)
	e.seed("0", all...)
	inf := e.informer(e.config(), kinform.Options{})
	var calls []string
	sub := inf.Subscribe(func(_ context.Context, ev eventOf) {
		calls = append(calls, ev.Key)
		panic("always")
	}, kinform.SubscribeOptions{})
	e.sync(inf)
	e.must(sub.WaitSynced(e.ctx), "waiting for a handler that panics")
	slices.Sort(calls)
	for i := range all {
		all[i] = e.key(all[i])
	}
	if !slices.Equal(calls, all) {
		e.Errorf("the handler was called for %v, want %v", calls, all)
	}
}

// goexiting does in a handler what t.FailNow does.
func goexiting(e *env) {
	e.seed("0", names("o", 4)...)
	inf := e.informer(e.config(), kinform.Options{})
	got := make(chan string, 10)
	sub := inf.Subscribe(func(_ context.Context, ev eventOf) {
		got <- ev.Key
		runtime.Goexit()
	}, subscribed{Name: "goexiting"})
	calm := e.subscribe(inf, "calm", subscribed{})
	e.sync(inf)
	e.must(sub.WaitSynced(e.ctx), "waiting for a handler that ends its goroutine")
	after := e.update("o-000", "1")
	calm.receives(after)
	for range 5 {
		receive(e, got, "the handler to be called again")
	}
	sub.Stop()
	if len(got) != 0 {
		e.Errorf("the handler was called %d times too often", len(got))
	}
	e.awaitLine(0, "panicked", func(ln line) bool { return ln.values["subscriber"] == "goexiting" })
}
