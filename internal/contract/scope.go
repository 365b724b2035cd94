package contract

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// Point 12: the scope changes while the informer runs. Deleted for what leaves, Added for
// what comes, nothing for what stays; only what is new is listed; no namespace holds up
// another one.
var scoping = []story{
	{"namespaces come, go and stay", namespacesComeAndGo},
	{"from all namespaces to some nothing is listed", allToSome},
	{"from some namespaces to all there is one list", someToAll},
	{"more terms of a selector list nothing", narrowerSelector},
	{"another selector lists once", anotherSelector},
	{"nothing is a scope, too", scopeOfNothing},
	{"the scope changes before, between and after runs", scopeWithoutRun},
	{"the scope changes from a handler", scopeFromHandler},
	{"a namespace that is forbidden holds up no other", scopeForbidden},
	{"a namespace that is being deleted holds up no other", scopeTerminating},
	{"waits end when the scope changes", scopeWaits},
	{"a late joiner gets the present scope", scopeLateJoiner},
	{"a shared informer has one scope", scopeShared},
	{"informers follow a label of namespaces", scopeFollows},
	{"many changes under load", func(e *env) { e.scopeLoad(25, (*env).randomScope) }},
}

// traffic counts what an informer asks for and gets.
type traffic struct{ lists, watches, bytes atomic.Int64 }

// counted is a configuration whose requests are counted.
func (e *env) counted(t *traffic) *rest.Config {
	cfg := e.config()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.RawQuery, "watch=") {
				t.watches.Add(1)
			} else {
				t.lists.Add(1)
			}
			response, err := next.RoundTrip(r)
			if err == nil {
				response.Body = &weighed{response.Body, &t.bytes}
			}
			return response, err
		})
	})
	return cfg
}

type weighed struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.bytes.Add(int64(n))
	return n, err
}

// wantLists fails unless there were so many lists since the last call.
func (e *env) wantLists(t *traffic, want int64, doing string) {
	e.Helper()
	if got := t.lists.Swap(0); got != want {
		e.Errorf("%s: %d lists, want %d", doing, got, want)
	}
}

// in is the story in another namespace.
func (e *env) in(ns string) *env {
	other := *e
	other.ns = ns
	return &other
}

// spaces makes n namespaces with two objects each: "one", labelled yes, and "two",
// labelled no. All have the label of the story, which has its first namespace's name.
func (e *env) spaces(n int) (all []*env) {
	for range n {
		ns := e.in(e.newNamespace())
		all = append(all, ns)
		for name, label := range map[string]string{"one": "yes", "two": "no"} {
			o := configMap(name, "0")
			o.Labels = map[string]string{"story": e.ns, "is": label}
			_, err := ns.maps().Create(e.ctx, o, metav1.CreateOptions{})
			e.must(err, "creating "+name)
		}
	}
	return all
}

// within is a scope of what the story has made, in some namespaces.
func (e *env) within(spaces ...*env) kinform.Scope {
	s := kinform.Scope{LabelSelector: "story=" + e.ns}
	for _, ns := range spaces {
		s.Namespaces = append(s.Namespaces, ns.ns)
	}
	return s
}

// scoped returns an informer that has synced in a scope, and what watches it.
func (e *env) scoped(s kinform.Scope) (*informer, *witness, *traffic) {
	e.Helper()
	var t traffic
	inf := e.informer(e.counted(&t), kinform.Options{
		Namespaces: s.Namespaces, LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector,
	})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	e.await(w.sub.Synced(), "the first sync")
	t.lists.Store(0)
	return inf, w, &t
}

// rescope changes the scope, and waits until the informer has it.
func (e *env) rescope(inf *informer, s kinform.Scope) {
	e.Helper()
	e.must(inf.SetScope(s), "changing the scope to "+s.String())
	e.must(inf.WaitSynced(e.ctx), "waiting for the scope "+s.String())
}

// selected is what the server has in a scope, as of now.
func (e *env) selected(s kinform.Scope) map[string]object {
	e.Helper()
	all := map[string]object{}
	o := metav1.ListOptions{LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector}
	if s.Nothing {
		return all
	}
	if len(s.Namespaces) == 0 {
		s.Namespaces = []string{""}
	}
	for _, ns := range s.Namespaces {
		objects, _ := e.in(ns).list(o)
		maps.Copy(all, objects)
	}
	return all
}

// wantScope fails unless store and witness have what the server has in a scope.
func (e *env) wantScope(inf *informer, w *witness, s kinform.Scope) {
	e.Helper()
	server := e.selected(s)
	want := slices.Sorted(maps.Keys(server))
	w.until("the objects of "+s.String(), func() bool {
		return slices.Equal(slices.Sorted(maps.Keys(w.state)), want)
	})
	e.wantStore(inf, server)
	w.wantServer(server)
}

// wantEvents fails unless just these came since a mark, in any order: "added a/one".
func (e *env) wantEvents(w *witness, mark int, want ...string) {
	e.Helper()
	var got []string
	for _, t := range w.since(mark) {
		got = append(got, string(t.kind)+" "+t.key)
		if t.kind == kinform.EventDeleted && !t.final {
			e.Errorf("%s, whose last state is not known", t)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		e.Errorf("got %v, want %v", got, want)
	}
}

// both are the same event for both objects of a namespace.
func (e *env) both(kind kinform.EventType) []string {
	return []string{string(kind) + " " + e.key("one"), string(kind) + " " + e.key("two")}
}

func namespacesComeAndGo(e *env) {
	ns := e.spaces(3)
	inf, w, t := e.scoped(e.within(ns[0], ns[1]))
	mark := w.mark()
	next := e.within(ns[1], ns[2])
	e.rescope(inf, next)
	e.wantLists(t, 1, "a namespace goes, and one comes")
	e.wantScope(inf, w, next)
	e.wantEvents(w, mark, append(ns[0].both(kinform.EventDeleted), ns[2].both(kinform.EventAdded)...)...)
	if got := inf.Scope(); got.String() != next.String() && len(got.Namespaces) != 2 {
		e.Errorf("the scope is %s, want %s", got, next)
	}
	// What changes from now on comes from the namespaces of the scope alone.
	mark = w.mark()
	ns[0].update("one", "1")
	for _, space := range ns[1:] {
		o := space.labelledAs(e, "one", "yes", "1")
		w.receives(o)
	}
	e.wantEvents(w, mark, "updated "+ns[1].key("one"), "updated "+ns[2].key("one"))
	e.rescope(inf, next)
	e.wantLists(t, 0, "the same scope again")
}

// labelledAs writes an object as spaces does.
func (e *env) labelledAs(story *env, name, label, v string) object {
	e.Helper()
	o := configMap(name, v)
	o.Labels = map[string]string{"story": story.ns, "is": label}
	now, err := e.maps().Update(e.ctx, o, metav1.UpdateOptions{})
	e.must(err, "updating "+name)
	return now
}

func allToSome(e *env) {
	ns := e.spaces(3)
	inf, w, t := e.scoped(e.within())
	mark := w.mark()
	next := e.within(ns[0], ns[1])
	e.rescope(inf, next)
	e.wantScope(inf, w, next)
	e.wantEvents(w, mark, ns[2].both(kinform.EventDeleted)...)
	mark = w.mark()
	w.receives(ns[0].labelledAs(e, "one", "yes", "1"))
	w.receives(ns[1].labelledAs(e, "one", "yes", "1"))
	e.wantEvents(w, mark, "updated "+ns[0].key("one"), "updated "+ns[1].key("one"))
	e.wantLists(t, 0, "from all namespaces to two")
	for _, src := range inf.Status().Sources {
		if !src.Synced || src.Cause != nil || src.ResourceVersion == "" {
			e.Errorf("the status of %s is %+v", src.Source, src)
		}
	}
}

func someToAll(e *env) {
	ns := e.spaces(3)
	inf, w, t := e.scoped(e.within(ns[0], ns[1]))
	mark := w.mark()
	e.rescope(inf, e.within())
	e.wantLists(t, 1, "from two namespaces to all")
	e.wantScope(inf, w, e.within())
	e.wantEvents(w, mark, ns[2].both(kinform.EventAdded)...)
	w.receives(ns[2].labelledAs(e, "one", "yes", "1"))
}

func narrowerSelector(e *env) {
	ns := e.spaces(2)
	inf, w, t := e.scoped(e.within(ns...))
	mark := w.mark()
	next := e.within(ns...)
	next.LabelSelector += ",is=yes"
	e.rescope(inf, next)
	e.wantScope(inf, w, next)
	e.wantEvents(w, mark, "deleted "+ns[0].key("two"), "deleted "+ns[1].key("two"))
	w.receives(ns[0].labelledAs(e, "one", "yes", "1"))
	w.receives(ns[1].labelledAs(e, "two", "yes", "1")) // it is selected now
	e.wantLists(t, 0, "a narrower selector")
	e.wantScope(inf, w, next)
}

func anotherSelector(e *env) {
	ns := e.spaces(2)
	first := e.within(ns...)
	first.LabelSelector += ",is=yes"
	inf, w, t := e.scoped(first)
	mark := w.mark()
	next := e.within(ns...)
	e.rescope(inf, next)
	e.wantLists(t, 2, "a wider selector in two namespaces")
	e.wantScope(inf, w, next)
	e.wantEvents(w, mark, "added "+ns[0].key("two"), "added "+ns[1].key("two"))
	next.FieldSelector = "metadata.name=one"
	mark = w.mark()
	e.rescope(inf, next)
	e.wantLists(t, 2, "another field selector")
	e.wantScope(inf, w, next)
	e.wantEvents(w, mark, "deleted "+ns[0].key("two"), "deleted "+ns[1].key("two"))
	if err := inf.SetScope(kinform.Scope{LabelSelector: "a in"}); err == nil || inf.Scope().LabelSelector != next.LabelSelector {
		e.Errorf("a selector that cannot be read: %v, and the scope is %s", err, inf.Scope())
	}
}

func scopeOfNothing(e *env) {
	ns := e.spaces(1)
	inf, w, t := e.scoped(e.within(ns...))
	mark := w.mark()
	e.rescope(inf, kinform.Scope{Nothing: true})
	e.wantScope(inf, w, kinform.Scope{Nothing: true})
	e.wantEvents(w, mark, ns[0].both(kinform.EventDeleted)...)
	st := inf.Status()
	if !inf.HasSynced() || len(st.Sources) != 0 || st.Staleness() != 0 || st.String() == "" || inf.Describe().String() == "" {
		e.Errorf("an informer of nothing: %s", st)
	}
	e.must(inf.WaitFor(e.ctx, "1"), "waiting for a version of nothing")
	e.wantLists(t, 0, "a scope of nothing")
	e.rescope(inf, e.within(ns...))
	e.wantScope(inf, w, e.within(ns...))
	e.wantLists(t, 1, "a namespace that comes back")
}

func scopeWithoutRun(e *env) {
	ns := e.spaces(3)
	var t traffic
	inf := e.informer(e.counted(&t), kinform.Options{LabelSelector: e.within().LabelSelector})
	w := e.subscribe(inf, "witness", subscribed{})
	e.must(inf.SetScope(e.within(ns[0], ns[1])), "changing the scope before the run")
	stop := e.sync(inf)
	e.wantScope(inf, w, e.within(ns[0], ns[1]))
	e.wantLists(&t, 2, "two namespaces")
	stop()
	e.must(inf.SetScope(e.within(ns[1], ns[2])), "changing the scope between runs")
	if n := inf.Lister().Len(); n != 2 || inf.HasSynced() {
		e.Errorf("%d objects are left, want 2; synced is %t", n, inf.HasSynced())
	}
	stop = e.sync(inf)
	e.wantScope(inf, w, e.within(ns[1], ns[2]))
	stop()
	e.must(inf.SetScope(kinform.Scope{Nothing: true}), "changing the scope after the last run")
}

func scopeFromHandler(e *env) {
	ns := e.spaces(3)
	inf, w, _ := e.scoped(e.within(ns[0]))
	inf.Subscribe(func(_ ctx, ev eventOf) {
		switch { // each that comes sets the next one
		case ev.Type != kinform.EventAdded:
		case ev.Key == ns[0].key("one"):
			e.mustWait(inf.SetScope(e.within(ns[0], ns[1])))
		case ev.Key == ns[1].key("one"):
			e.mustWait(inf.SetScope(e.within(ns[2])))
		}
	}, subscribed{Name: "chain"})
	w.until("the last scope", func() bool { _, ok := w.state[ns[2].key("one")]; return ok && len(w.state) == 2 })
	e.wantScope(inf, w, e.within(ns[2]))
}

func scopeForbidden(e *env) {
	ns := e.spaces(3)
	cfg := e.own(e.server.Limited(e.T, ns[0].ns, ns[1].ns))
	inf := e.informer(cfg, kinform.Options{Namespaces: []string{ns[0].ns, ns[2].ns}})
	w := e.subscribe(inf, "witness", subscribed{})
	e.run(inf)
	e.must(inf.WaitSyncedIn(e.ctx, ns[0].ns), "waiting for the namespace that is permitted")
	e.must(inf.SetScope(kinform.Scope{Namespaces: []string{ns[0].ns, ns[1].ns, ns[2].ns}}), "adding another one")
	e.must(inf.WaitSyncedIn(e.ctx, ns[0].ns, ns[1].ns), "waiting for those that are permitted")
	for _, space := range ns[:2] {
		w.receives(space.labelledAs(e, "one", "yes", "1"))
	}
	short, cancel := contextFor(e, 300*time.Millisecond)
	defer cancel()
	err := inf.WaitSynced(short)
	var failed *kinform.SyncError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), ns[2].ns) || failed.Source.Reason != kinform.ReasonForbidden {
		e.Errorf("waiting for all: %v, want the namespace %s and that it is forbidden", err, ns[2].ns)
	}
	if err := inf.WaitSyncedIn(short, ns[2].ns); !errors.As(err, &failed) {
		e.Errorf("waiting for the one that is forbidden: %v", err)
	}
	if err := inf.WaitSyncedIn(e.ctx, "elsewhere"); !errors.Is(err, kinform.ErrOutOfScope) {
		e.Errorf("waiting for a namespace that is not in the scope: %v", err)
	}
	for _, src := range inf.Status().Sources {
		if forbidden := strings.Contains(src.Source, ns[2].ns); forbidden == src.Synced || forbidden == (src.Cause == nil) {
			e.Errorf("the status of %s: synced %t, cause %v", src.Source, src.Synced, src.Cause)
		}
	}
	e.rescope(inf, kinform.Scope{Namespaces: []string{ns[0].ns, ns[1].ns}})
	w.receives(ns[0].labelledAs(e, "two", "no", "2"))
}

func scopeTerminating(e *env) {
	ns := e.spaces(2)
	inf, w, t := e.scoped(e.within(ns...))
	e.must(e.kube.CoreV1().Namespaces().Delete(e.ctx, ns[0].ns, metav1.DeleteOptions{}), "deleting a namespace")
	for _, name := range []string{"one", "two"} { // a controller does, if there is one
		err := ns[0].maps().Delete(e.ctx, name, metav1.DeleteOptions{})
		e.must(leaveOut(err, isGone), "deleting "+name)
	}
	w.until("the end of its objects", func() bool {
		_, one := w.state[ns[0].key("one")]
		_, two := w.state[ns[0].key("two")]
		return !one && !two
	})
	w.receives(ns[1].labelledAs(e, "one", "yes", "1"))
	if !inf.HasSynced() {
		e.Error("it is not synced")
	}
	mark := w.mark()
	e.rescope(inf, e.within(ns[1]))
	e.wantScope(inf, w, e.within(ns[1]))
	e.wantEvents(w, mark)
	e.wantLists(t, 0, "a namespace is deleted and leaves")
}
