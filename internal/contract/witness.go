package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/kinform/kinform"
)

// delivery is one event as a handler got it, or a server sent it.
type delivery struct {
	kind         kinform.EventType
	key          string
	uid, version string
	value        string // of the config map, as the stories write it
	old          string // the version of the state before
	initial      bool
	final        bool // the final state is unknown
}

func (o delivery) String() string {
	s := fmt.Sprintf("%s %s@%s", o.kind, o.key, o.version)
	if o.old != "" && o.old != o.version {
		s += " from @" + o.old
	}
	if o.initial {
		s += " (initial)"
	}
	if o.final {
		s += " (final state unknown)"
	}
	return s
}

// witness is a subscriber that remembers what it is given, and holds it against
// what is promised to every subscriber: calls never overlap; an object is Added
// once, then Updated from the state delivered before to a newer one, then Deleted.
type witness struct {
	bell
	e      *env
	name   string
	sub    *kinform.Subscription
	events []delivery
	state  map[string]delivery // what the events add up to
	holds  []*hold

	inside  atomic.Int32
	stopped atomic.Bool
	// goesBack: the server goes back in time in this story, so versions may.
	goesBack atomic.Bool
	// also is called in the handler, before the event is noted.
	also func(eventOf)
}

func (e *env) witness(name string) *witness {
	return &witness{e: e, name: name, state: map[string]delivery{}}
}

// subscribe has a new witness get everything.
func (e *env) subscribe(inf *informer, name string, o subscribed) *witness {
	return e.witness(name).join(inf, o)
}

// subscribable is an informer, or the lease of one.
type subscribable interface {
	Subscribe(func(context.Context, eventOf), subscribed) *kinform.Subscription
}

func (w *witness) join(inf subscribable, o subscribed) *witness {
	o.Name = w.name
	w.sub = inf.Subscribe(w.handle, o)
	return w
}

// stop ends the subscription. Not one event may come after.
func (w *witness) stop() {
	w.sub.Stop()
	w.stopped.Store(true)
}

func (w *witness) handle(_ context.Context, ev eventOf) {
	if w.inside.Add(1) != 1 {
		w.e.Errorf("%s: a call for %s while another one was under way", w.name, ev.Key)
	}
	defer w.inside.Add(-1)
	if w.stopped.Load() {
		w.e.Errorf("%s: a call for %s after Stop had returned", w.name, ev.Key)
	}
	if w.also != nil {
		w.also(ev)
	}
	t, err := deliveredBy(ev)
	if err != nil {
		return // an object that does not fit, as some stories send
	}
	w.change(func() { w.note(t) })
	w.pause(t)
}

func deliveredBy(ev eventOf) (delivery, error) {
	now, err := ev.New()
	if err != nil {
		return delivery{}, err
	}
	t := delivery{
		kind: ev.Type, key: ev.Key, uid: ev.UID(), version: ev.ResourceVersion(),
		value: now.Data[value], initial: ev.Initial(), final: ev.FinalStateUnknown(),
	}
	if old, err := ev.Old(); err == nil && old != nil {
		t.old = old.ResourceVersion
	}
	return t, nil
}

// note remembers an event, and says what is wrong with it.
func (w *witness) note(t delivery) {
	w.events = append(w.events, t)
	before, known := w.state[t.key]
	switch {
	case t.kind == kinform.EventAdded && known:
		w.e.Errorf("%s: %s, which it has @%s", w.name, t, before.version)
	case t.kind != kinform.EventAdded && !known:
		w.e.Errorf("%s: %s, which was never added", w.name, t)
	case known && t.old != before.version:
		w.e.Errorf("%s: %s, but the state delivered before is @%s", w.name, t, before.version)
	case known && t.uid != before.uid:
		w.e.Errorf("%s: %s is another object than the one delivered before", w.name, t)
	case t.kind == kinform.EventUpdated && !w.goesBack.Load() && number(t.version) <= number(before.version):
		w.e.Errorf("%s: %s is not newer than @%s", w.name, t, before.version)
	}
	if t.kind == kinform.EventDeleted {
		delete(w.state, t.key)
	} else {
		w.state[t.key] = t
	}
}

// until waits until something holds for what was delivered.
func (w *witness) until(what string, condition func() bool) {
	w.e.Helper()
	if !w.await(w.e.ctx, condition) {
		w.look(func() { w.e.Fatalf("%s: waited without result for %s; it got %v", w.name, what, w.events) })
	}
}

// receives waits until the witness knows the object in this state, or a newer one.
func (w *witness) receives(o object) {
	w.e.Helper()
	w.until("the news of "+keyOf(o)+"@"+o.ResourceVersion, func() bool {
		have, ok := w.state[keyOf(o)]
		return ok && number(have.version) >= number(o.ResourceVersion)
	})
}

// mark is how many events were delivered so far.
func (w *witness) mark() (n int) {
	w.look(func() { n = len(w.events) })
	return n
}

// since returns what was delivered after a mark.
func (w *witness) since(mark int) (events []delivery) {
	w.look(func() { events = slices.Clone(w.events[mark:]) })
	return events
}

// versions returns, for each object that the events add up to, its version.
func (w *witness) versions() (versions map[string]string) {
	w.look(func() {
		versions = map[string]string{}
		for key, t := range w.state {
			versions[key] = t.uid + "@" + t.version
		}
	})
	return versions
}

// wantServer fails unless what was delivered adds up to what the server has.
func (w *witness) wantServer(server map[string]object) {
	w.e.Helper()
	want := map[string]string{}
	for key, o := range server {
		want[key] = string(o.UID) + "@" + o.ResourceVersion
	}
	if got := w.versions(); !maps.Equal(got, want) {
		w.e.Errorf("%s: what it got adds up to %v, the server has %v", w.name, got, want)
	}
}

// byKey sorts events by object, in their order.
func byKey(events []delivery) map[string][]delivery {
	m := map[string][]delivery{}
	for _, t := range events {
		m[t.key] = append(m[t.key], t)
	}
	return m
}

// number is a version as a number; 0 for none.
func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}

// hold keeps a handler in one of its calls.
type hold struct {
	fits     func(delivery) bool
	entered  chan struct{} // closed when the handler is in that call
	released chan struct{}
	release  func()
}

// hold keeps the handler in the next call that fits, until release.
func (w *witness) hold(fits func(delivery) bool) *hold {
	h := &hold{fits: fits, entered: make(chan struct{}), released: make(chan struct{})}
	var done atomic.Bool
	h.release = func() {
		if done.CompareAndSwap(false, true) {
			close(h.released)
		}
	}
	w.e.Cleanup(h.release)
	w.change(func() { w.holds = append(w.holds, h) })
	return h
}

// pause stays as long as a hold says, whether the informer goes on or not.
func (w *witness) pause(t delivery) {
	var found *hold
	w.look(func() {
		if i := slices.IndexFunc(w.holds, func(h *hold) bool { return h.fits(t) }); i >= 0 {
			found = w.holds[i]
			w.holds = slices.Delete(w.holds, i, i+1)
		}
	})
	if found == nil {
		return
	}
	close(found.entered)
	select {
	case <-found.released:
	case <-w.e.ctx.Done():
	}
}

// of fits events of an object.
func of(key string) func(delivery) bool { return func(t delivery) bool { return t.key == key } }
