package contract

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
)

// Point 12: Verify finds what differs from the server, and nothing else, and repairs it;
// Replay tells one subscriber of every object again, in order.
var verifying = []story{
	{"events that get lost are found, and repaired", verifyLost},
	{"events that get lost are found with a selector, in several namespaces", verifyLostSelected},
	{"nothing differs while everything changes", verifyChurn},
	{"a history that goes back is found while the watch is silent", verifyRestored},
	{"a namespace that is forbidden is named, and the other compared", verifyForbidden},
	{"what does not run cannot be verified", verifyStopped},
	{"every object is replayed once, in order", replayAll},
	{"a replay follows its subscriber", replaySlow},
	{"a subscription that ends ends its replay", replayEnds},
}

// deafTo has events not reach an informer while lost is true: those of objects whose name
// begins with "lost".
func (e *env) deafTo(m *meddler, lost *atomic.Bool) {
	m.frames(isWatch, func(frame []byte) []byte {
		if lost.Load() && bytes.Contains(frame, []byte(`"name":"lost`)) {
			return nil
		}
		return frame
	})
}

// wantReport verifies, and fails unless it finds as much.
func (e *env) wantReport(inf *informer, want kinform.VerifyReport) {
	e.Helper()
	got, err := inf.Verify(e.ctx)
	e.must(err, "verifying")
	keys := got.Keys
	got.Keys = nil
	if got.String() != want.String() {
		e.Errorf("Verify finds %v (%v), want %v", got, keys, want)
	}
}

// wantFound is wantReport for what is only known once the informer has heard of something
// later than the server's list, which it does.
func (e *env) wantFound(inf *informer, want kinform.VerifyReport, later ...func()) {
	e.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, write := range later {
				write()
			}
		}
	})
	defer all.Wait()
	defer close(done)
	e.wantReport(inf, want)
}

// hears changes an object that the informer is told of.
func (e *env) hears() {
	_, err := e.maps().Patch(e.ctx, "heard", types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:%q}}`, value, rand.Text()), metav1.PatchOptions{})
	if err != nil {
		e.Errorf("changing what is heard: %v", err)
	}
}

// loses has an informer miss three changes of a set of objects, and be told of later ones.
func (e *env) loses(inf *informer, lost *atomic.Bool) {
	e.Helper()
	lost.Store(true)
	defer lost.Store(false)
	e.delete("lost-gone")
	_, err := e.maps().Patch(e.ctx, "lost-changed", types.MergePatchType, []byte(`{"data":{"other":"1"}}`), metav1.PatchOptions{})
	e.must(err, "changing an object")
	e.labelled("lost-new", "yes")
	e.must(inf.WaitForObject(e.ctx, e.labelled("told", "yes")), "waiting for what is not lost")
}

func verifyLost(e *env) {
	e.seed("0", "lost-gone", "lost-changed", "heard", "still")
	cfg := e.config()
	var lost atomic.Bool
	e.deafTo(e.meddle(cfg), &lost)
	inf := e.informer(cfg, kinform.Options{JSON: true})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	e.wantReport(inf, kinform.VerifyReport{Objects: 4})

	e.loses(inf, &lost)
	before := inf.Status().Sources[0]
	if n := inf.Lister().Len(); n != 5 {
		e.Fatalf("the store has %d objects, so nothing was lost", n)
	}
	mark := e.log.mark()
	e.wantFound(inf, kinform.VerifyReport{Objects: 5, Missing: 1, Extra: 1, Older: 1, Repaired: 3}, e.hears)
	e.awaitLine(mark, "differed from the server", nil)
	e.must(inf.CatchUp(e.ctx), "catching up")
	server := e.onServer()
	e.wantStore(inf, server)
	w.until("all that was lost", func() bool {
		return len(w.state) == 5 && w.state[e.key("lost-new")].version != "" && w.state[e.key("heard")].version == server[e.key("heard")].ResourceVersion
	})
	w.wantServer(server)
	after := inf.Status().Sources[0]
	if after.Differences != 3 || after.Verified.Before(before.Verified) || before.Verified.IsZero() {
		e.Errorf("the status has %d differences, at %v", after.Differences, after.Verified)
	}
	e.wantReport(inf, kinform.VerifyReport{Objects: 5})
	if n := inf.Status().Sources[0].Lists - before.Lists; n > 2 { // one may be for the wait
		e.Errorf("%d lists", n)
	}
}

func verifyLostSelected(e *env) {
	other := *e
	other.ns = e.newNamespace()
	for _, here := range []*env{e, &other} {
		for _, name := range []string{"lost-gone", "lost-changed", "heard", "still"} {
			here.labelled(name, "yes")
		}
		here.labelled("unselected", "no")
	}
	cfg := e.config()
	var lost atomic.Bool
	e.deafTo(e.meddle(cfg), &lost)
	inf := e.informer(cfg, kinform.Options{JSON: true, Namespaces: []string{e.ns, other.ns}, LabelSelector: "contract=yes"})
	e.sync(inf)
	e.loses(inf, &lost)
	lost.Store(true)
	other.labelled("lost-changed", "no") // it leaves the selection
	e.must(inf.WaitForObject(e.ctx, other.labelled("told", "yes")), "waiting in the other namespace")
	lost.Store(false)
	e.wantFound(inf, kinform.VerifyReport{Objects: 9, Missing: 1, Extra: 2, Older: 1, Repaired: 4}, e.hears, other.hears)
	e.wantReport(inf, kinform.VerifyReport{Objects: 9})
}

func verifyChurn(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&churn{e: e, names: names("o", 20), writers: 4, steps: 100}).run()
	}()
	for times := 0; ; times++ {
		report, err := inf.Verify(e.ctx)
		e.must(err, "verifying")
		if report.Differences() != 0 {
			e.Errorf("Verify finds %v", report)
		}
		select {
		case <-ended:
			if times == 0 {
				e.Error("it was verified once")
			}
			e.must(inf.CatchUp(e.ctx), "catching up")
			e.wantStore(inf, e.onServer())
			return
		default:
		}
	}
}

// verifyRestored: a proxy keeps the watch open while the server behind it is restored.
func verifyRestored(e *env) {
	v := e.versions()
	e.seed("0", "kept", "changed")
	restore := e.backup()
	cfg := e.config()
	e.meddle(cfg).bodies(isWatch, stopsAfter(0))
	inf := e.informer(cfg, kinform.Options{Silence: patience})
	v.burn(margin)
	e.update("changed", "1")
	e.create("lost", "1")
	e.sync(inf)
	restore()
	report, err := inf.Verify(e.ctx)
	e.must(err, "verifying")
	if report.Newer != 1 || report.Extra != 1 || report.Repaired != 2 {
		e.Errorf("Verify finds %v", report)
	}
	e.wantStore(inf, e.onServer())
}

func verifyForbidden(e *env) {
	other := *e
	other.ns = e.newNamespace()
	e.seed("0", "a", "b")
	cfg := e.config()
	var refused atomic.Bool
	e.meddle(cfg).before(func(r *http.Request) bool {
		return refused.Load() && !isWatch(r) && strings.Contains(r.URL.Path, other.ns)
	}, func(*http.Request) *http.Response {
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you")
	})
	inf := e.informer(cfg, kinform.Options{Namespaces: []string{e.ns, other.ns}})
	e.sync(inf)
	refused.Store(true)
	report, err := inf.Verify(e.ctx)
	var why *kinform.VerifyError
	if !errors.As(err, &why) || !apierrors.IsForbidden(err) || !strings.Contains(why.Source.Source, other.ns) {
		e.Errorf("Verify gives %v", err)
	}
	if report.Objects != 2 || report.Differences() != 0 {
		e.Errorf("Verify finds %v", report)
	}
}

func verifyStopped(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	var why *kinform.SyncError
	if _, err := inf.Verify(over()); !errors.As(err, &why) {
		e.Errorf("before it runs: %v", err)
	}
	e.sync(inf)() // and stop
	if _, err := inf.Verify(e.ctx); !errors.Is(err, kinform.ErrNotRunning) {
		e.Errorf("after it ran: %v", err)
	}
}

// replays replays to a witness while something happens, and returns for how many.
func (e *env) replays(w *witness, o kinform.ReplayOptions, meanwhile func()) int {
	e.Helper()
	var n int
	var err error
	var all sync.WaitGroup
	all.Go(func() { n, err = w.sub.Replay(e.ctx, o) })
	meanwhile()
	all.Wait()
	e.must(err, "replaying")
	return n
}

// replayed are the keys that were replayed since a mark, and how often.
func (w *witness) replayed(mark int) map[string]int {
	times := map[string]int{}
	for _, t := range w.since(mark) {
		if t.kind == kinform.EventResynced {
			times[t.key]++
		}
	}
	return times
}

func replayAll(e *env) {
	still := names("still", 40)
	e.seed("0", still...)
	inf := e.informer(e.config(), kinform.Options{})
	for _, o := range []subscribed{{Name: "every"}, {Name: "latest", Latest: true}, {Name: "limit", Limit: 2}} {
		w := e.subscribe(inf, o.Name, o)
		defer w.stop()
		if o.Name == "every" {
			e.sync(inf)
		}
		e.must(w.sub.WaitSynced(e.ctx), "waiting for the subscriber")
		mark := w.mark()
		n := e.replays(w, kinform.ReplayOptions{PerSecond: 100}, func() {
			(&churn{e: e, names: names("moving", 10), writers: 2, steps: 50}).run()
		})
		times := w.replayed(mark)
		for _, name := range still {
			if times[e.key(name)] != 1 {
				e.Errorf("%s: %s was replayed %d times", w.name, name, times[e.key(name)])
			}
		}
		if n < len(still) || n > len(still)+100 {
			e.Errorf("%s: %d are said to be replayed", w.name, n)
		}
	}
}

// replaySlow: what waits is what the subscriber can take, and what is deleted meanwhile is
// not replayed.
func replaySlow(e *env) {
	all := names("o", 300)
	e.seed("0", all...)
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "slow", subscribed{})
	e.sync(inf)
	e.must(w.sub.WaitSynced(e.ctx), "waiting for the subscriber")
	mark := w.mark()
	h := w.hold(func(t delivery) bool { return t.kind == kinform.EventResynced })
	n := e.replays(w, kinform.ReplayOptions{PerSecond: 100}, func() {
		e.await(h.entered, "the first of the replay")
		if waiting := inf.Status().Subscribers[0].Waiting; waiting > 20 {
			e.Errorf("%d wait for a subscriber that does nothing", waiting)
		}
		gone, err := inf.Lister().Get(e.key(all[len(all)-1]))
		e.must(err, "reading an object")
		e.delete(gone.Name)
		e.must(inf.WaitForDeleted(e.ctx, gone), "waiting for the deletion")
		h.release()
	})
	if times := w.replayed(mark); len(times) != n || n < 299 {
		e.Errorf("%d were replayed, %d are said to be", len(times), n)
	}
}

func replayEnds(e *env) {
	e.seed("0", names("o", 20)...)
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	ended := make(chan error, 1)
	go func() {
		_, err := w.sub.Replay(e.ctx, kinform.ReplayOptions{PerSecond: 1})
		ended <- err
	}()
	w.until("a replay", func() bool {
		return len(w.events) > 0 && w.events[len(w.events)-1].kind == kinform.EventResynced
	})
	w.stop()
	if err := receive(e, ended, "the end of the replay"); !errors.Is(err, kinform.ErrLeft) {
		e.Errorf("the replay ends with %v", err)
	}
}
