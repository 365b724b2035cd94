package contract

import (
	"errors"
	"slices"
	"sync"

	"github.com/kinform/kinform"
)

// Point 2: when a handler gets a change, store and indexes have it already,
// or something newer.
var storeFirst = []story{
	{"store and indexes have what a handler gets", storeIsAhead},
}

// reader looks at the store from within a handler.
type reader struct {
	e       *env
	lister  kinform.Lister[object]
	indexes []kinform.Index[object]

	mu   sync.Mutex
	gone []delivery // delivered, while the store had it no more
}

// color is what the indexes are by: a few values that objects move between.
func color(o object) []string { return []string{o.Data[value][len(o.Data[value])-1:]} }

func (r *reader) check(ev eventOf) {
	// The indexes first: where the store afterwards still has the state of the
	// event, the indexes had it when they were asked.
	now, err := ev.New()
	if err != nil {
		r.e.Errorf("reading the object of an event: %v", err)
		return
	}
	here, was := r.found(now, ev.Key), 0
	if old, err := ev.Old(); err == nil && old != nil && color(old)[0] != color(now)[0] {
		was = r.found(old, ev.Key)
	}
	o, err := r.lister.Get(ev.Key)
	switch {
	case errors.Is(err, kinform.ErrNotFound) && ev.Type != kinform.EventDeleted:
		t, _ := deliveredBy(ev) // it could be read above
		r.mu.Lock()
		r.gone = append(r.gone, t)
		r.mu.Unlock()
	case errors.Is(err, kinform.ErrNotFound):
		if here > 0 {
			r.e.Errorf("deleted %s is in an index, though not in the store", ev.Key)
		}
	case err != nil:
		r.e.Errorf("reading %s: %v", ev.Key, err)
	case number(o.ResourceVersion) < number(ev.ResourceVersion()):
		r.e.Errorf("%s is delivered @%s, while the store has it @%s", ev.Key, ev.ResourceVersion(), o.ResourceVersion)
	case number(o.ResourceVersion) > number(ev.ResourceVersion()):
		// The store is ahead, and so the indexes may be.
	case ev.Type == kinform.EventDeleted:
		r.e.Errorf("%s is delivered as deleted, while the store has it", ev.Key)
	case here != len(r.indexes) || was > 0:
		r.e.Errorf("%s %s @%s: of %d indexes, %d have it under its present value and %d under its former one",
			ev.Type, ev.Key, ev.ResourceVersion(), len(r.indexes), here, was)
	}
}

// found counts the indexes that have a key under an object's value.
func (r *reader) found(o object, key string) (n int) {
	for _, ix := range r.indexes {
		if slices.Contains(slices.Collect(ix.Keys(color(o)[0])), key) {
			n++
		}
	}
	return n
}

// wantGone fails unless what the store had no more was deleted, and delivered as such.
func (r *reader) wantGone(w *witness) {
	r.e.Helper()
	for _, t := range r.gone {
		if !slices.ContainsFunc(w.since(0), func(d delivery) bool {
			return d.key == t.key && d.kind == kinform.EventDeleted && number(d.version) > number(t.version)
		}) {
			r.e.Errorf("%v was delivered while the store did not have it, and no end of it was", t)
		}
	}
}

func storeIsAhead(e *env) {
	objects := names("o", 5)
	e.seed("red 0", objects...)
	inf := e.informer(e.config(), kinform.Options{})
	r := &reader{e: e, lister: inf.Lister()}
	r.indexes = append(r.indexes, e.index(inf, "before", color))
	early := e.witness("early")
	early.also = r.check
	early.join(inf, subscribed{})
	e.sync(inf)

	late := &reader{e: e, lister: inf.Lister()}
	late.indexes = append(r.indexes[:1:1], e.index(inf, "after", color))
	second := e.witness("late")
	second.also = late.check
	second.join(inf, subscribed{})

	c := &churn{e: e, names: objects, writers: 6, steps: 40}
	c.run()
	end := e.create("the-end", "0")
	early.receives(end)
	second.receives(end)
	r.wantGone(early)
	late.wantGone(second)

	server := e.onServer()
	e.wantStore(inf, server)
	for _, ix := range late.indexes {
		e.wantIndex(ix, server)
	}
}

// wantIndex fails unless an index by color is equal to the server.
func (e *env) wantIndex(ix kinform.Index[object], server map[string]object) {
	e.Helper()
	want := map[string][]string{}
	for key, o := range server {
		want[color(o)[0]] = append(want[color(o)[0]], key)
	}
	for _, v := range ix.Values() {
		if len(want[v]) == 0 {
			e.Errorf("the index has the value %q, which no object has", v)
		}
	}
	for v, keys := range want {
		slices.Sort(keys)
		if got := slices.Sorted(ix.Keys(v)); !slices.Equal(got, keys) {
			e.Errorf("the index has %v under %q, the server %v", got, v, keys)
		}
		for o := range ix.Get(v) {
			if server[keyOf(o)] == nil || o.ResourceVersion != server[keyOf(o)].ResourceVersion {
				e.Errorf("the index gives %s@%s", keyOf(o), o.ResourceVersion)
			}
		}
	}
}
