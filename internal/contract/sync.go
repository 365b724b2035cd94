package contract

import (
	"context"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// Point 4: sync is per subscriber: it is done when the handler has returned from
// every object of the initial list. Nothing polls.
var syncing = []story{
	{"done when the handler has returned from every initial object", syncedByReturn},
	{"each subscriber on its own, the store on its own", syncedApart},
	{"what comes after the initial list does not count", syncedBeforeLater},
	{"an empty list is synced", syncedEmpty},
	{"every namespace counts", syncedNamespaces},
	{"nobody polls for the sync of an informer", syncedUnpolled},
	{"nobody polls for the sync of a subscriber, or for its queue", subscriberUnpolled},
}

// nth fits the n-th event.
func nth(n int) func(delivery) bool {
	return func(delivery) bool {
		n--
		return n == 0
	}
}

// wantNotSynced fails if a subscriber claims to have synced.
func (w *witness) wantNotSynced(while string) {
	w.e.Helper()
	if w.sub.HasSynced() {
		w.e.Errorf("%s: has synced while %s", w.name, while)
	}
	if err := w.sub.WaitSynced(over()); err == nil {
		w.e.Errorf("%s: WaitSynced finds that it has synced while %s", w.name, while)
	} else if !strings.Contains(err.Error(), w.name) {
		w.e.Errorf("%s: WaitSynced does not say whom it waits for: %v", w.name, err)
	}
}

func syncedByReturn(e *env) {
	const n = 5
	e.seed("1", names("o", n)...)
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "blocked", subscribed{})
	last := w.hold(nth(n))
	other := e.subscribe(inf, "other", subscribed{})
	e.sync(inf)

	e.await(last.entered, "the last initial object")
	w.wantNotSynced("its handler is at the last object")
	// Whatever else goes on is no reason either.
	other.receives(e.create("later", "1"))
	w.wantNotSynced("its handler is at the last object, and others go on")
	if st := w.status(inf); st.Synced {
		e.Errorf("Status says that it has synced: %+v", st)
	}

	synced := make(chan error, 1)
	go func() { synced <- w.sub.WaitSynced(e.ctx) }()
	last.release()
	e.must(receive(e, synced, "the released subscriber"), "waiting for the released subscriber")
	if !w.sub.HasSynced() || !w.status(inf).Synced || w.mark() < n {
		e.Errorf("synced after %d events; HasSynced says %v, Status %v", w.mark(), w.sub.HasSynced(), w.status(inf))
	}
}

// status is that of the witness's subscription.
func (w *witness) status(inf *informer) kinform.SubscriptionStatus {
	for _, st := range inf.Status().Subscribers {
		if st.Name == w.name {
			return st
		}
	}
	w.e.Fatalf("Status does not have the subscriber %q", w.name)
	return kinform.SubscriptionStatus{}
}

func syncedApart(e *env) {
	e.seed("1", names("o", 3)...)
	inf := e.informer(e.config(), kinform.Options{})
	blocked := e.subscribe(inf, "blocked", subscribed{})
	first := blocked.hold(nth(1))
	quick := e.subscribe(inf, "quick", subscribed{})
	e.sync(inf) // the store does not wait for the blocked one
	e.await(first.entered, "the first object")
	e.must(quick.sub.WaitSynced(e.ctx), "waiting for the quick one")

	// One that joins now has an initial list of its own.
	late := e.witness("late")
	third := late.hold(nth(3)) // before it joins: it is called at once
	late.join(inf, subscribed{})
	first.release()
	e.must(blocked.sub.WaitSynced(e.ctx), "waiting for the first one")
	e.await(third.entered, "the last object of the late one")
	late.wantNotSynced("its handler is at the last object")
	third.release()
	e.must(late.sub.WaitSynced(e.ctx), "waiting for the late one")
}

func syncedBeforeLater(e *env) {
	e.seed("1", names("o", 2)...)
	inf := e.informer(e.config(), kinform.Options{})
	other := e.subscribe(inf, "other", subscribed{})
	e.sync(inf)
	w := e.witness("late")
	first := w.hold(nth(1))
	later := w.hold(of(e.key("later")))
	w.join(inf, subscribed{})
	e.await(first.entered, "the first object")
	other.receives(e.create("later", "1")) // waits behind the initial list
	first.release()
	e.await(later.entered, "the later object")
	e.must(w.sub.WaitSynced(e.ctx), "waiting while the handler is at a later object")
}

func syncedEmpty(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	if inf.HasSynced() || w.sub.HasSynced() {
		e.Error("synced before it was run")
	}
	e.sync(inf)
	e.must(w.sub.WaitSynced(e.ctx), "waiting for an empty list")
	if !inf.HasSynced() || !inf.Status().Synced || w.mark() != 0 {
		e.Errorf("synced: %v, status: %v, events: %v", inf.HasSynced(), inf.Status(), w.since(0))
	}
}

func syncedNamespaces(e *env) {
	second := e.newNamespace()
	e.create("first", "1")
	cfg := e.config()
	m := e.meddle(cfg)
	held, release := make(chan struct{}), make(chan struct{})
	m.before(once(isList, func(r *http.Request) bool { return strings.Contains(r.URL.Path, second) }), func(r *http.Request) *http.Response {
		close(held)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return nil
	})
	inf := e.informer(cfg, kinform.Options{Namespaces: []string{e.ns, second}})
	w := e.subscribe(inf, "witness", subscribed{})
	e.run(inf)
	e.await(held, "the list of the second namespace")
	w.until("the first namespace", func() bool { return len(w.events) == 1 })
	if inf.HasSynced() || w.sub.HasSynced() {
		e.Error("synced while the second namespace was not listed")
	}
	close(release)
	e.must(inf.WaitSynced(e.ctx), "waiting for both namespaces")
	e.must(w.sub.WaitSynced(e.ctx), "waiting for the subscriber")
}

// rounds is so many that even a poll every 60 ms would wear out the story's
// patience, where every round waits once.
const rounds = int(patience / (60 * time.Millisecond))

// syncedUnpolled waits for one informer after the other. The server is left alone.
func syncedUnpolled(e *env) {
	cfg := e.config()
	e.meddle(cfg).before(func(*http.Request) bool { return true }, func(r *http.Request) *http.Response {
		if isWatch(r) {
			<-r.Context().Done()
			return failure(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the story has ended")
		}
		return answer(http.StatusOK, "application/json", `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	})
	for range rounds {
		inf := e.informer(cfg, kinform.Options{JSON: true})
		ctx, cancel := context.WithCancel(e.ctx)
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		e.must(inf.WaitSynced(e.ctx), "waiting for the sync of one informer of many")
		cancel()
		e.must(receive(e, ended, "Run to return"), "running one informer of many")
	}
}

// subscriberUnpolled has one subscriber join after the other.
func subscriberUnpolled(e *env) {
	e.seed("1", names("o", 3)...)
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	for range rounds {
		sub := inf.Subscribe(func(context.Context, eventOf) {}, kinform.SubscribeOptions{})
		e.must(sub.WaitSynced(e.ctx), "waiting for the sync of one subscriber of many")
		sub.Stop()
	}
}
