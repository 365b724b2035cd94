package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// Point 6: a state is not replaced by an older one. The one exception is a server
// whose own history went back (restored from a backup): a consistent list that is
// older than what the store holds starts a new epoch, replaces everything, and is
// counted in Status. The cache always ends equal to the server.
var neverBack = []story{
	{"events that come twice or late are not told", repeatedEvents},
	{"a list older than the store changes nothing", olderList},
	{"a list that claims to be older than what is in it", modestList},
	{"a list with an older state of one object", olderItem},
	{"a bookmark of an older version has the server asked", olderBookmark},
	{"a server restored from a backup starts a new epoch", restored},
	{"a server restored between two runs starts a new epoch", restoredBetween},
	{"a server restored during a silence starts a new epoch", restoredInSilence},
	{"versions that a restored server gives a second time", versionsAgain},
}

// repeatedEvents has the watch send every event twice, and older ones again.
func repeatedEvents(e *env) {
	objects := names("o", 5)
	e.seed("0", objects[:3]...)
	listed, version := e.list(metav1.ListOptions{})
	cfg := e.config()
	m := e.meddle(cfg)
	var mu sync.Mutex
	var past [][]byte
	m.frames(isWatch, func(frame []byte) []byte {
		if eventType(frame) == "BOOKMARK" {
			return frame
		}
		mu.Lock()
		defer mu.Unlock()
		past = append(past, slices.Clone(frame))
		out := slices.Concat(frame, frame)
		for range 3 {
			out = append(out, past[rand.IntN(len(past))]...)
		}
		return out
	})
	inf := e.informer(cfg, kinform.Options{JSON: true})
	w := e.subscribe(inf, "witness", subscribed{Limit: 10_000})
	e.sync(inf)
	c := &churn{e: e, names: objects, writers: 4, steps: 40}
	c.run()
	end := e.create("the-end", "")
	w.hears(end)
	// What was sent again together with the end is behind it.
	last := e.create("after-the-end", "")
	w.hears(last)
	e.history(metav1.ListOptions{}, listed, version, last).wantEnd(w)
	server := e.onServer()
	w.wantServer(server)
	e.wantStore(inf, server)
}

func eventType(frame []byte) string {
	var ev struct{ Type string }
	_ = json.Unmarshal(frame, &ev) // what is no event has no type
	return ev.Type
}

// gone is the answer to a watch whose version is forgotten.
func gone(*http.Request) *http.Response {
	return failure(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
}

// olderList has the relist answered, once, with what the first list had.
func olderList(e *env) {
	e.seed("1", "updated", "deleted")
	cfg, proxy := e.proxied()
	m := e.meddle(cfg)
	var first []byte
	m.lists(once(isList), func(body []byte) []byte {
		first = slices.Clone(body)
		return body
	})
	inf := e.informer(cfg, kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	e.delete("deleted")
	w.hears(e.update("updated", "2"))
	mark := w.mark()

	answered := make(chan struct{})
	m.before(once(isWatch), gone)
	m.lists(once(isList), func([]byte) []byte {
		close(answered)
		return first
	})
	proxy.Cut()
	e.await(answered, "the relist")
	end := e.create("the-end", "")
	w.hears(end)
	w.wantTold(mark, map[string][]told{"the-end": {toldOf(kinform.EventAdded, end)}})
	e.wantStore(inf, e.onServer())
	if n := inf.Status().Sources[0].Epochs; n != 0 {
		e.Errorf("%d new epochs, though the server did not go back", n)
	}
}

// modestList has the watch begin before what the list had: it brings again what is
// older than the store.
func modestList(e *env) {
	first := e.create("o", "1")
	e.update("o", "2")
	three := e.update("o", "3")
	cfg := e.config()
	e.meddle(cfg).lists(once(isList), func(body []byte) []byte {
		list := parse[fields](body)
		list.in("metadata", func(m fields) { m["resourceVersion"] = render(first.ResourceVersion) })
		return render(list)
	})
	inf := e.informer(cfg, kinform.Options{JSON: true})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	four := e.update("o", "4")
	w.hears(four)
	initial := toldOf(kinform.EventAdded, three)
	initial.initial = true
	w.wantTold(0, map[string][]told{"o": {initial, updated(three, four)}})
	e.wantStore(inf, e.onServer())
}

// olderItem has a relist that is new, but for one object.
func olderItem(e *env) {
	e.seed("1", "o", "other")
	cfg, proxy := e.proxied()
	m := e.meddle(cfg)
	var old []byte // the first list's state of the object
	find := func(body []byte, each func(o fields) fields) []byte {
		list := parse[fields](body)
		items := parse[[]fields](list["items"])
		for i, o := range items {
			if bytes.Contains(o["metadata"], []byte(`"name":"o"`)) {
				items[i] = each(o)
			}
		}
		list["items"] = render(items)
		return render(list)
	}
	m.lists(once(isList), func(body []byte) []byte {
		return find(body, func(o fields) fields { old = render(o); return o })
	})
	inf := e.informer(cfg, kinform.Options{JSON: true})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	w.hears(e.update("o", "2"))
	mark := w.mark()
	answered := make(chan struct{})
	m.before(once(isWatch), gone)
	m.lists(once(isList), func(body []byte) []byte {
		defer close(answered)
		return find(body, func(fields) fields { return parse[fields](old) })
	})
	proxy.Cut()
	e.await(answered, "the relist")
	end := e.create("the-end", "")
	w.hears(end)
	w.wantTold(mark, map[string][]told{"the-end": {toldOf(kinform.EventAdded, end)}})
	e.wantStore(inf, e.onServer())
}

// olderBookmark is what a server sends on that was restored under an open watch.
func olderBookmark(e *env) {
	e.create("o", "1")
	cfg := e.config()
	m := e.meddle(cfg)
	bookmark := `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}}`
	m.frames(once(isWatch), func(frame []byte) []byte {
		if bytes.Contains(frame, []byte(`"value":"2"`)) {
			return slices.Concat(frame, []byte(bookmark))
		}
		return frame
	})
	asked := make(chan struct{})
	m.before(once(isProbe), func(*http.Request) *http.Response {
		close(asked)
		return nil
	})
	inf := e.informer(cfg, kinform.Options{JSON: true})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	w.hears(e.update("o", "2"))
	e.await(asked, "a question for the server's version")
	w.hears(e.update("o", "3"))
	e.wantStore(inf, e.onServer())
	if n := inf.Status().Sources[0].Epochs; n != 0 {
		e.Errorf("%d new epochs, though the server did not go back", n)
	}
}

// margin is how many versions the server is made to lose: more than it uses up
// by itself while it starts.
const margin = 400

// versions uses up versions of the server, by creating objects in a namespace
// that nobody looks at.
type versions struct {
	e     env
	calls int
}

func (e *env) versions() *versions {
	e.Helper()
	v := &versions{e: *e}
	v.e.ns = e.newNamespace()
	return v
}

// burn uses up n versions and returns the last of them, or a later one.
func (v *versions) burn(n int) uint64 {
	v.e.Helper()
	v.calls++
	prefix := fmt.Sprintf("pad-%d", v.calls)
	v.e.seed("", names(prefix, n-1)...)
	return number(v.e.create(prefix+"-last", "").ResourceVersion)
}

// wantEpoch fails unless the informer is at peace after one new epoch, and knows
// of an end.
func (e *env) wantEpoch(inf *informer, w *witness, end object) {
	e.Helper()
	w.hears(end)
	server := e.onServer()
	e.wantStore(inf, server)
	w.wantServer(server)
	st := inf.Status()
	if st.Sources[0].Epochs != 1 || st.Cause() != nil {
		e.Errorf("%s: %d new epochs, want 1; status: %s", w.name, st.Sources[0].Epochs, st)
	}
}

// restored has two informers: one whose watch breaks, and one whose watch ends in
// peace, as watches do every few minutes.
func restored(e *env) {
	v := e.versions()
	e.seed("0", "kept", "updated", "deleted", "recreated")
	saved := e.onServer()
	restore := e.backup()
	back := make(chan struct{})
	var stays []*stay
	for _, name := range []string{"broken", "in peace"} {
		cfg := e.config()
		if name == "in peace" {
			e.meddle(cfg).bodies(once(isWatch), func(r *http.Response) io.Reader { return &peaceful{r.Body, r.Request.Context(), back} })
		}
		s := &stay{inf: e.informer(cfg, kinform.Options{})}
		s.ix = e.index(s.inf, "color", color)
		s.w = e.subscribe(s.inf, name, subscribed{})
		e.sync(s.inf)
		stays = append(stays, s)
	}

	changed := e.update("updated", "1")
	e.delete("deleted")
	again := e.recreate("recreated", "2")
	v.burn(margin)
	created := e.create("created", "3")
	for _, s := range stays {
		s.w.hears(created)
		s.mark = s.w.mark()
		s.w.goesBack.Store(true)
	}
	restore()
	close(back)

	for _, s := range stays {
		s.w.until("the new epoch", func() bool { return s.w.state[e.key("created")].kind == "" })
	}
	end := e.create("the-end", "0")
	for _, s := range stays {
		e.wantEpoch(s.inf, s.w, end)
		e.wantIndex(s.ix, e.onServer())
		s.w.wantTold(s.mark, map[string][]told{
			"updated":   {updated(changed, saved[e.key("updated")])},
			"deleted":   {toldOf(kinform.EventAdded, saved[e.key("deleted")])},
			"recreated": {vanished(again), toldOf(kinform.EventAdded, saved[e.key("recreated")])},
			"created":   {vanished(created)},
			"the-end":   {toldOf(kinform.EventAdded, end)},
		})
	}
	e.awaitLine(0, "history went back", nil)
}

func restoredBetween(e *env) {
	v := e.versions()
	e.seed("0", "kept", "updated")
	restore := e.backup()
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	stop := e.sync(inf)
	e.update("updated", "1")
	v.burn(margin)
	w.hears(e.create("created", "0"))
	stop()
	w.goesBack.Store(true)
	restore()
	e.run(inf)
	w.until("the new epoch", func() bool { return w.state[e.key("created")].kind == "" })
	e.wantEpoch(inf, w, e.create("the-end", "0"))
}

// restoredInSilence has the watch hang while the server is restored. There are no
// bookmarks to tell of it either.
func restoredInSilence(e *env) {
	v := e.versions()
	e.seed("0", "kept", "updated")
	restore := e.backup()
	cfg := e.config()
	never := make(chan struct{})
	m := e.meddle(cfg)
	m.bodies(once(isWatch), func(r *http.Response) io.Reader { return &peaceful{r.Body, r.Request.Context(), never} })
	m.frames(isWatch, func(frame []byte) []byte {
		if eventType(frame) == "BOOKMARK" {
			return nil
		}
		return frame
	})
	inf := e.informer(cfg, kinform.Options{JSON: true, Silence: 3 * silence})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	e.update("updated", "1")
	v.burn(margin)
	w.hears(e.create("created", "0"))
	w.goesBack.Store(true)
	restore()
	w.until("the new epoch", func() bool { return w.state[e.key("created")].kind == "" })
	e.wantEpoch(inf, w, e.create("the-end", "0"))
}

// peaceful reads a watch that ends as if nothing had happened, when it is time.
type peaceful struct {
	io.Reader
	ctx  context.Context
	time <-chan struct{}
}

func (p *peaceful) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err == nil {
		return n, nil
	}
	select {
	case <-p.time:
		return n, io.EOF
	case <-p.ctx.Done():
		return n, p.ctx.Err()
	}
}

// versionsAgain has the restored server write the same objects at the versions
// that the lost history had used for them, while the informer looks away.
func versionsAgain(e *env) {
	v := e.versions()
	objects := names("o", 20)
	e.seed("0", objects...)
	restore := e.backup()
	cfg, proxy := e.proxied()
	inf := e.informer(cfg, kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)

	v.burn(margin)
	lost := map[string]uint64{}
	for _, name := range objects {
		lost[name] = number(e.update(name, "lost").ResourceVersion)
	}
	v.burn(margin)
	w.hears(e.create("created", "0"))
	e.disconnect(proxy)
	w.goesBack.Store(true)
	restore()

	now := v.burn(1)
	if first := lost[objects[0]]; now < first-20 {
		now = v.burn(int(first - 20 - now))
	}
	same := 0
	for _, name := range objects {
		for now < lost[name]-1 {
			now = v.burn(1)
		}
		if now = number(e.update(name, "found").ResourceVersion); now == lost[name] {
			same++
		}
	}
	if same == 0 {
		e.Fatalf("no version was given a second time; the server is at %d, lost were %v", now, lost)
	}
	e.reconnect(proxy)
	w.until("the new epoch", func() bool { return w.state[e.key("created")].kind == "" })
	e.wantEpoch(inf, w, e.create("the-end", "0"))
}
