package contract

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/kinform/kinform"
)

// The stories of point 6 in which a server is restored from a backup.

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
	w.receives(end)
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
		s.w.receives(created)
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
		s.w.wantDelivered(s.mark, map[string][]delivery{
			"updated":   {updated(changed, saved[e.key("updated")])},
			"deleted":   {deliveryOf(kinform.EventAdded, saved[e.key("deleted")])},
			"recreated": {vanished(again), deliveryOf(kinform.EventAdded, saved[e.key("recreated")])},
			"created":   {vanished(created)},
			"the-end":   {deliveryOf(kinform.EventAdded, end)},
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
	w.receives(e.create("created", "0"))
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
	w.receives(e.create("created", "0"))
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
	w.receives(e.create("created", "0"))
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
