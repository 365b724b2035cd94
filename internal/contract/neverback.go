package contract

import (
	"bytes"
	"encoding/json"
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
	{"events that come twice or late are not delivered", repeatedEvents},
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
	w.receives(end)
	// What was sent again together with the end is behind it.
	last := e.create("after-the-end", "")
	w.receives(last)
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
	w.receives(e.update("updated", "2"))
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
	w.receives(end)
	w.wantDelivered(mark, map[string][]delivery{"the-end": {deliveryOf(kinform.EventAdded, end)}})
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
	w.receives(four)
	initial := deliveryOf(kinform.EventAdded, three)
	initial.initial = true
	w.wantDelivered(0, map[string][]delivery{"o": {initial, updated(three, four)}})
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
	w.receives(e.update("o", "2"))
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
	w.receives(end)
	w.wantDelivered(mark, map[string][]delivery{"the-end": {deliveryOf(kinform.EventAdded, end)}})
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
	w.receives(e.update("o", "2"))
	e.await(asked, "a question for the server's version")
	w.receives(e.update("o", "3"))
	e.wantStore(inf, e.onServer())
	if n := inf.Status().Sources[0].Epochs; n != 0 {
		e.Errorf("%d new epochs, though the server did not go back", n)
	}
}
