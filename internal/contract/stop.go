package contract

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// Point 9: Run returns when all its goroutines have. Subscription.Stop waits for
// the handler, and does not deadlock when the handler itself calls it. An
// informer can be run again. The last Release of an informer ends it and gives up its
// memory.
var stopping = []story{
	{"Run ends while watching", endWatching},
	{"Run ends while listing", endListing},
	{"Run ends while waiting to try again", endWaiting},
	{"Run ends while the server does not answer", endHanging},
	{"Run waits for the handlers", runWaits},
	{"Run with a context that is over", runOver},
	{"Run while it runs", runTwice},
	{"Run again delivers the difference and no more", runAgain},
	{"Run again delivers what was not delivered", runAgainDelivers},
	{"Stop waits for the handler", stopWaits},
	{"Stop called by the handler", stopInside},
	{"Stop at any time, by anybody", stopAnytime},
	{"Shutdown of a factory", shutdown},
	{"the last release ends an informer, the next use starts one", released},
	{"Release called by the handler", releasedInside},
	{"Release of what others need", releasedNot},
}

// wantNobody fails if a goroutine is inside kinform, now.
func (e *env) wantNobody() {
	e.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for goroutine := range strings.SplitSeq(string(stacks), "\n\n") {
		calls, _, _ := strings.Cut(goroutine, "created by")
		for _, inside := range []string{"kinform.(*Informer", "kinform/engine.", "kinform/kube.", "kinform/wire."} {
			if strings.Contains(calls, "github.com/kinform/"+inside) || strings.Contains(calls, "github.com/kinform/kinform/"+inside) {
				e.Errorf("Run has returned, and this still goes on:\n%s", goroutine)
				break
			}
		}
	}
	// Responses are closed too, or their connections would stay in use.
	if n := e.network.bodies.Load(); n != 0 {
		e.Errorf("Run has returned, and %d responses are open", n)
	}
}

func endWatching(e *env) {
	e.create("o", "1")
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	stop := e.sync(inf)
	w.receives(e.update("o", "2"))
	stop()
	e.wantNobody()
	if st := inf.Status(); st.State() != kinform.StateStopped {
		e.Errorf("Status says %q, want stopped", st)
	}
	e.wantStore(inf, e.onServer()) // it can be read still
}

func endListing(e *env) {
	cfg := e.config()
	held := make(chan struct{})
	e.meddle(cfg).before(once(isList), func(r *http.Request) *http.Response {
		close(held)
		<-r.Context().Done()
		return nil
	})
	inf := e.informer(cfg, kinform.Options{})
	e.subscribe(inf, "witness", subscribed{})
	stop := e.run(inf)
	e.await(held, "the list")
	stop()
	e.wantNobody()
}

func endWaiting(e *env) {
	cfg, proxy := e.proxied()
	e.disconnect(proxy)
	inf := e.informer(cfg, kinform.Options{Backoff: kinform.Backoff{First: time.Hour, Most: time.Hour}})
	stop := e.run(inf)
	e.awaitFailure(0, kinform.ReasonUnreachable)
	stop()
	e.wantNobody()
}

func endHanging(e *env) {
	e.create("o", "1")
	cfg, proxy := e.proxied()
	inf := e.informer(cfg, kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	stop := e.sync(inf)
	w.receives(e.update("o", "2"))
	proxy.Hang(true)
	stop()
	e.wantNobody()
}

// reluctant is a handler that takes its time after it was asked to end.
type reluctant struct {
	entered  chan struct{}
	once     sync.Once
	returned atomic.Bool
}

func newReluctant() *reluctant { return &reluctant{entered: make(chan struct{})} }

func (r *reluctant) handle(ctx context.Context, _ eventOf) {
	r.once.Do(func() { close(r.entered) })
	<-ctx.Done()
	for range 1000 {
		runtime.Gosched()
	}
	r.returned.Store(true)
}

func runWaits(e *env) {
	e.create("o", "1")
	inf := e.informer(e.config(), kinform.Options{})
	r := newReluctant()
	inf.Subscribe(r.handle, kinform.SubscribeOptions{})
	stop := e.run(inf)
	e.await(r.entered, "the handler")
	stop()
	if !r.returned.Load() {
		e.Error("Run has returned before the handler")
	}
	e.wantNobody()
}

func runOver(e *env) {
	e.create("o", "1")
	cfg := e.config()
	m := e.meddle(cfg)
	inf := e.informer(cfg, kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.must(inf.Run(over()), "running with a context that is over")
	e.wantNobody()
	if m.requests != 0 {
		e.Errorf("%d requests were made", m.requests)
	}
	e.sync(inf)
	e.must(w.sub.WaitSynced(e.ctx), "waiting for the witness")
}

func runTwice(e *env) {
	e.create("o", "1")
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	stop := e.sync(inf)
	if err := inf.Run(e.ctx); !errors.Is(err, kinform.ErrRunning) {
		e.Errorf("Run while it runs returns %v, want ErrRunning", err)
	}
	w.receives(e.update("o", "2"))
	stop()
	e.run(inf)
	w.receives(e.update("o", "3"))
}

// runAgain changes things between two runs: while the server remembers them, and
// after it has forgotten.
func runAgain(e *env) {
	e.seed("1", "kept", "updated", "deleted", "recreated")
	listed, version := e.list(metav1.ListOptions{})
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	stop := e.sync(inf)
	e.must(w.sub.WaitSynced(e.ctx), "waiting for the witness")
	stop()

	mark := w.mark()
	e.update("updated", "2")
	e.update("updated", "3")
	e.delete("deleted")
	e.recreate("recreated", "2")
	created := e.create("created", "1")
	between := e.subscribe(inf, "between", subscribed{})
	stop = e.run(inf)
	w.receives(created)
	between.receives(created)
	h := e.history(metav1.ListOptions{}, listed, version, created)
	h.wantEnd(w)
	if n := len(w.since(mark)); n != 6 {
		e.Errorf("six things happened between the runs, delivered were %v", w.since(mark))
	}
	stop()

	mark = w.mark()
	e.delete("updated")
	again := e.update("created", "2")
	e.expire()
	e.run(inf)
	w.receives(again)
	end := e.create("the-end", "")
	w.receives(end)
	between.receives(end)
	if got := w.since(mark); len(got) != 3 {
		e.Errorf("two things happened between the runs, and one after; delivered were %v", got)
	}
	server := e.onServer()
	w.wantServer(server)
	between.wantServer(server)
	e.wantStore(inf, server)
}

func runAgainDelivers(e *env) {
	e.seed("1", names("o", 5)...)
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	second := w.hold(nth(2))
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	e.await(second.entered, "the second object")
	cancel()
	second.release()
	e.must(receive(e, ended, "the first run"), "the first run")
	if n := w.mark(); n != 2 || w.sub.HasSynced() {
		e.Errorf("%d events in the first run, synced: %v; want 2 and not synced", n, w.sub.HasSynced())
	}
	e.run(inf)
	e.must(w.sub.WaitSynced(e.ctx), "waiting for the rest")
	w.wantServer(e.onServer())
}

func stopWaits(e *env) {
	e.create("o", "1")
	inf := e.informer(e.config(), kinform.Options{})
	r := newReluctant()
	sub := inf.Subscribe(r.handle, kinform.SubscribeOptions{})
	other := e.subscribe(inf, "other", subscribed{})
	e.run(inf)
	e.await(r.entered, "the handler")
	sub.Stop()
	if !r.returned.Load() {
		e.Error("Stop has returned before the handler")
	}
	sub.Stop() // again is no harm
	other.receives(e.update("o", "2"))
	if subs := inf.Status().Subscribers; len(subs) != 1 {
		e.Errorf("Status has %d subscribers after one of two was stopped", len(subs))
	}
}

func stopInside(e *env) {
	e.seed("1", names("o", 5)...)
	inf := e.informer(e.config(), kinform.Options{})
	var sub *kinform.Subscription
	var calls atomic.Int32
	ended := make(chan struct{})
	sub = inf.Subscribe(func(ctx context.Context, _ eventOf) {
		if calls.Add(1) != 2 {
			return
		}
		sub.Stop()
		if ctx.Err() == nil {
			e.Error("the handler's context goes on after Stop")
		}
		close(ended)
	}, kinform.SubscribeOptions{})
	other := e.subscribe(inf, "other", subscribed{})
	stop := e.sync(inf)
	e.await(ended, "Stop to return to the handler that called it")
	sub.Stop() // from outside it waits until that handler has returned
	other.receives(e.update("o-000", "2"))
	stop()
	e.run(inf)
	other.receives(e.update("o-000", "3"))
	if n := calls.Load(); n != 2 {
		e.Errorf("%d calls, want 2: the last one is the one that called Stop", n)
	}
}

// stopAnytime stops subscribers before, between and after runs, twice at once,
// and from their handlers, while objects change.
func stopAnytime(e *env) {
	objects := names("o", 4)
	e.seed("0", objects...)
	inf := e.informer(e.config(), kinform.Options{})
	never := e.subscribe(inf, "never called", subscribed{})
	never.sub.Stop()
	never.stopped.Store(true)
	stays := e.subscribe(inf, "stays", subscribed{})
	stop := e.run(inf)

	var stoppers sync.WaitGroup
	c := &churn{e: e, names: objects, writers: 4, steps: 20, after: func(uint64) {
		w := e.witness("short-lived")
		var sub atomic.Pointer[kinform.Subscription]
		w.also = func(eventOf) {
			if s := sub.Load(); s != nil {
				s.Stop()
			}
		}
		w.join(inf, subscribed{})
		sub.Store(w.sub)
		for range 2 {
			stoppers.Go(w.stop)
		}
	}}
	c.run()
	stoppers.Wait()
	stays.receives(e.create("the-end", ""))
	stop()
	between := e.subscribe(inf, "between", subscribed{})
	between.stop()
	e.run(inf)
	stays.receives(e.update("the-end", "2"))
	stays.stop()
	if subs := inf.Status().Subscribers; len(subs) != 0 {
		e.Errorf("Status has the subscribers %v after all were stopped", subs)
	}
}

func shutdown(e *env) {
	e.create("o", "1")
	f, err := kinform.NewFactory(e.config(), e.options(kinform.Options{}))
	e.must(err, "making a factory")
	inf, err := kinform.For[object](f, kinform.Options{})
	e.must(err, "making an informer")
	r := newReluctant()
	inf.Subscribe(r.handle, kinform.SubscribeOptions{})
	e.must(f.Start(e.ctx), "starting the factory")
	e.must(f.WaitSynced(e.ctx), "waiting for the factory")
	e.await(r.entered, "the handler")
	f.Shutdown()
	if !r.returned.Load() {
		e.Error("Shutdown has returned before the handler")
	}
	e.wantNobody()
	if err := f.Start(e.ctx); !errors.Is(err, kinform.ErrShutDown) {
		e.Errorf("Start after Shutdown returns %v, want ErrShutDown", err)
	}
}
