package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// Point 8: Status gives state, cause, attempts, resource version and staleness;
// WaitSynced returns the cause (forbidden, no such resource, refused, …) and not
// just a timeout.
var nothingSilent = []story{
	{"not run", notRun},
	{"forbidden", forbidden},
	{"unauthorized", unauthorized},
	{"no such resource", noResource},
	{"a resource that goes and comes back", definitionGone},
	{"a resource that comes back in another version", definitionMoved},
	{"a resource that is no longer served in one version", definitionUnserved},
	{"refused", refused},
	{"a certificate that cannot be trusted", untrusted},
	{"throttled", throttled},
	{"waiting to try again", waiting},
	{"a server that never answers", neverAnswers},
	{"a watch that falls silent", silentWatch},
	{"a watch that does not fall silent", lively},
	{"a watch that breaks, and comes back", brokenWatch},
	{"every namespace, every informer of a factory", whichOne},
}

// failing is what an informer that fails must say.
type failing struct {
	reason kinform.Reason
	is     func(error) bool // optional
	says   string
}

// informant is an informer of any type.
type informant interface {
	runner
	Status() kinform.Status
}

// wantCause runs an informer that cannot sync, and fails unless it says why.
func (e *env) wantCause(inf informant, want failing) {
	e.Helper()
	e.run(inf)
	e.awaitFailure(0, want.reason)
	why := errors.New("the caller's own reason")
	ctx, cancel := context.WithCancelCause(e.ctx)
	cancel(why)
	err := inf.WaitSynced(ctx)
	var syncErr *kinform.SyncError
	switch {
	case !errors.As(err, &syncErr):
		e.Fatalf("WaitSynced returns %v, want a *SyncError", err)
	case !errors.Is(err, why):
		e.Errorf("WaitSynced returns %v, which does not wrap why it had to end", err)
	case syncErr.Source.Reason != want.reason || syncErr.Source.Attempts == 0:
		e.Errorf("WaitSynced gives %q after %d attempts, want %q: %v", syncErr.Source.Reason, syncErr.Source.Attempts, want.reason, err)
	case want.is != nil && !want.is(err):
		e.Errorf("WaitSynced returns %v, which is something else", err)
	}
	for _, part := range []string{string(want.reason), want.says} {
		if !strings.Contains(err.Error(), part) {
			e.Errorf("WaitSynced says %q, without a word of %q", err, part)
		}
	}
	st := inf.Status()
	if st.Synced || st.Cause() == nil || st.Sources[0].Reason != want.reason || !strings.Contains(st.String(), string(want.reason)) {
		e.Errorf("Status says %q, want %q", st, want.reason)
	}
}

// wantWell fails unless the informer says that all is well, soon.
func (e *env) wantWell(inf informant) {
	e.Helper()
	e.must(inf.WaitSynced(e.ctx), "waiting until all is well")
	st := inf.Status()
	src := st.Sources[0]
	if st.Cause() != nil || src.Reason != "" || src.Attempts != 0 || !src.NextTry.IsZero() || src.ResourceVersion == "" || !st.Synced {
		e.Errorf("Status says %q (%+v), want all well", st, src)
	}
	if s := st.Staleness(); s < 0 || s > patience {
		e.Errorf("Status says that the server was last contact %v ago", s)
	}
}

func notRun(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	err := inf.WaitSynced(over())
	if err == nil || !strings.Contains(err.Error(), "not run") || !errors.Is(err, context.Canceled) {
		e.Errorf("WaitSynced returns %v for an informer that was not run", err)
	}
	if st := inf.Status(); st.State() != kinform.StateIdle || st.Cause() != nil {
		e.Errorf("Status says %q, want idle", st)
	}
}

func forbidden(e *env) {
	inf := e.informer(e.own(e.server.Forbidden(e.T)), kinform.Options{})
	sub := e.subscribe(inf, "witness", subscribed{}).sub
	e.wantCause(inf, failing{kinform.ReasonForbidden, apierrors.IsForbidden, "configmaps in namespace " + e.ns})
	if err := sub.WaitSynced(over()); !apierrors.IsForbidden(err) {
		e.Errorf("the subscriber's WaitSynced returns %v, want forbidden", err)
	}
}

// unauthorized has the answer of a server that asks who is there, where this one
// does not.
func unauthorized(e *env) {
	cfg := e.config()
	if cfg.BearerToken == "" {
		e.meddle(cfg).before(isList, func(*http.Request) *http.Response {
			return failure(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
		})
	}
	cfg.BearerToken = "nobody-gave-this-token"
	inf := e.informer(cfg, kinform.Options{})
	e.wantCause(inf, failing{kinform.ReasonUnauthorized, apierrors.IsUnauthorized, "configmaps"})
}

func noResource(e *env) {
	nowhere := schema.GroupVersionResource{Group: "nowhere.example.com", Version: "v1", Resource: "things"}
	inf := informerOf[*unstructured.Unstructured](e, e.config(), kinform.Options{Resource: nowhere})
	e.wantCause(inf, failing{kinform.ReasonNoResource, apierrors.IsNotFound, "things.nowhere.example.com"})
}

func refused(e *env) {
	e.create("o", "1")
	cfg, proxy := e.proxied()
	m := e.meddle(cfg)
	e.disconnect(proxy)
	inf := e.informer(cfg, kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.wantCause(inf, failing{kinform.ReasonUnreachable, nil, proxy.Addr()})
	m.awaitRequests(4) // by now three have failed
	if n := inf.Status().Sources[0].Attempts; n < 3 {
		e.Errorf("%d attempts after three failures", n)
	}
	e.reconnect(proxy)
	e.wantWell(inf)
	w.receives(e.update("o", "2"))
	if st := inf.Status(); st.State() != kinform.StateWatching {
		e.Errorf("Status says %q, want watching", st)
	}
}

func untrusted(e *env) {
	cfg := rest.CopyConfig(e.server.Config)
	cfg.CAData, cfg.CAFile = nil, ""
	inf := e.informer(e.own(cfg), kinform.Options{})
	e.wantCause(inf, failing{kinform.ReasonTLS, nil, "certificate"})
}

func throttled(e *env) {
	cfg := e.config()
	m := e.meddle(cfg)
	m.before(times(1), func(*http.Request) *http.Response {
		r := answer(http.StatusTooManyRequests, "text/plain", "later")
		r.Header.Set("Retry-After", "1")
		return r
	})
	inf := e.informer(cfg, kinform.Options{})
	e.wantCause(inf, failing{kinform.ReasonThrottled, apierrors.IsTooManyRequests, "configmaps"})
	src := inf.Status().Sources[0]
	if wait := src.NextTry.Sub(src.Since); wait < 900*time.Millisecond {
		e.Errorf("the next try is %v after the answer, which asked for a second", wait)
	}
	e.wantWell(inf)
}

func waiting(e *env) {
	cfg, proxy := e.proxied()
	e.disconnect(proxy)
	inf := e.informer(cfg, kinform.Options{Backoff: kinform.Backoff{First: time.Hour, Most: time.Hour}})
	e.run(inf)
	e.awaitFailure(0, kinform.ReasonUnreachable)
	for inf.Status().State() != kinform.StateWaiting { // which follows at once
		e.must(e.ctx.Err(), "waiting for an informer that says that it waits")
		runtime.Gosched()
	}
	if st := inf.Status(); time.Until(st.Sources[0].NextTry) < 30*time.Minute {
		e.Errorf("Status says %q, to be tried again at %v, want in an hour", st, st.Sources[0].NextTry)
	}
}

// silence is how long the stories' servers may be silent.
const silence = 300 * time.Millisecond

func neverAnswers(e *env) {
	cfg, proxy := e.proxied()
	proxy.Hang(true)
	inf := e.informer(cfg, kinform.Options{Silence: silence})
	e.wantCause(inf, failing{kinform.ReasonStalled, nil, "silent"})
	proxy.Hang(false)
	e.must(inf.WaitSynced(e.ctx), "waiting for a server that answers after all")
}

func silentWatch(e *env) {
	e.create("o", "1")
	cfg, proxy := e.proxied()
	inf := e.informer(cfg, kinform.Options{Silence: silence})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	w.receives(e.update("o", "2"))
	from := e.log.mark()
	proxy.Hang(true)
	missed := e.update("o", "3")
	e.awaitFailure(from, kinform.ReasonStalled)
	st := inf.Status()
	if st.Cause() == nil || st.Sources[0].Reason != kinform.ReasonStalled || !st.Synced || st.Staleness() < silence {
		e.Errorf("Status says %q, last contact %v ago, want stalled for %v", st, st.Staleness(), silence)
	}
	if o, err := inf.Lister().Get(e.key("o")); err != nil || o.Data[value] != "2" {
		e.Errorf("the store has %v (%v) while the server is silent", o, err)
	}
	proxy.Hang(false)
	w.receives(missed)
}

// lively has a watch get something more often than Silence asks for, for longer
// than Silence: that watch stays. Where the machine itself is too slow for that, it
// begins again.
func lively(e *env) {
	const allowed = 2 * silence
	e.create("o", "0")
	inf := e.informer(e.config(), kinform.Options{Silence: allowed})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	began, got, watches := time.Now(), time.Now(), uint64(0)
	for n := 0; watches == 0 || got.Sub(began) < allowed+silence/2; n++ {
		w.receives(e.update("o", fmt.Sprint(n)))
		now := time.Now()
		if watches == 0 || now.Sub(got) > allowed*2/3 {
			began, watches = now, inf.Status().Sources[0].Watches
		}
		got = now
	}
	if st := inf.Status(); st.Sources[0].Watches != watches || st.Cause() != nil {
		e.Errorf("%d watches after %d, though the server was never silent: %s", st.Sources[0].Watches, watches, st)
	}
}

// brokenWatch is of a quiet resource: nothing happens that would prove the new
// watch, and yet all is well again once it is open.
func brokenWatch(e *env) {
	e.create("o", "1")
	cfg, proxy := e.proxied()
	m := e.meddle(cfg)
	inf := e.informer(cfg, kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	changed := e.update("o", "2")
	w.receives(changed) // the watch is open
	for inf.Status().Sources[0].ResourceVersion != changed.ResourceVersion && e.ctx.Err() == nil {
		runtime.Gosched() // Status comes a moment after
	}
	before := inf.Status()
	from := e.log.mark()
	e.disconnect(proxy)
	e.awaitFailure(from, kinform.ReasonUnreachable)
	st := inf.Status()
	if st.Cause() == nil || !st.Synced || st.Sources[0].LastContact != before.Sources[0].LastContact {
		e.Errorf("Status says %q, last contact %v, want a cause and the last contact from before: %v",
			st, st.Sources[0].LastContact, before.Sources[0].LastContact)
	}
	open := make(chan struct{})
	m.bodies(once(isWatch), func(r *http.Response) io.Reader { return &firstRead{Reader: r.Body, begins: open} })
	e.reconnect(proxy)
	e.await(open, "a new watch") // which has nothing to tell
	e.wantWell(inf)
	if n := inf.Status().Sources[0].Lists; n != 1 {
		e.Errorf("%d lists: the watch was not resumed", n)
	}
}

// firstRead reports when somebody begins to read.
type firstRead struct {
	io.Reader
	begins chan struct{}
	once   sync.Once
}

func (f *firstRead) Read(p []byte) (int, error) {
	f.once.Do(func() { close(f.begins) })
	return f.Reader.Read(p)
}

// whichOne has one namespace fail, while the list of another one takes its time,
// and one informer of a factory, while another one is well.
func whichOne(e *env) {
	second := e.newNamespace()
	cfg := e.config()
	m := e.meddle(cfg)
	m.before(func(r *http.Request) bool { return strings.Contains(r.URL.Path, second) }, func(*http.Request) *http.Response {
		return answer(http.StatusInternalServerError, "text/plain", "out of order")
	})
	release := make(chan struct{})
	m.before(once(isList, func(r *http.Request) bool { return strings.Contains(r.URL.Path, e.ns) }), func(r *http.Request) *http.Response {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return nil
	})
	f, err := kinform.NewFactory(cfg, e.options(kinform.Options{}))
	e.must(err, "making a factory")
	both, err := kinform.For[object](f, e.options(kinform.Options{Namespaces: []string{e.ns, second}}))
	e.must(err, "making an informer")
	e.must(f.Start(e.ctx), "starting the factory")
	e.Cleanup(f.Shutdown)
	e.awaitFailure(0, kinform.ReasonServerError)
	var syncErr *kinform.SyncError
	if err := both.WaitSynced(over()); !errors.As(err, &syncErr) || syncErr.Source.Reason != kinform.ReasonServerError || !strings.Contains(err.Error(), second) {
		e.Errorf("WaitSynced says %v, want what is wrong with %s", err, second)
	}
	close(release)

	well, err := kinform.For[object](f, kinform.Options{})
	e.must(err, "making another informer")
	e.must(f.Start(e.ctx), "starting the other informer")
	e.must(well.WaitSynced(e.ctx), "waiting for the informer that works")
	err = f.WaitSynced(over())
	if err == nil || strings.Count(err.Error(), "not synced") != 1 || !strings.Contains(err.Error(), second) {
		e.Errorf("the factory says %v, want what is wrong with %s and no more", err, second)
	}
	for _, st := range f.Status() {
		if bad := len(st.Sources) == 2; bad != (st.Cause() != nil) {
			e.Errorf("Status says %q", st)
		}
	}
}
