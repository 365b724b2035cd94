package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
)

// Differences that are not a list of lines.

// callsOf returns the calls of a handler in a story.
func callsOf(handler string, lines []string) (calls []string) {
	for _, line := range lines {
		call, ok := strings.CutPrefix(line, handler+": ")
		if ok && !strings.HasPrefix(call, "synced=") {
			calls = append(calls, call)
		}
	}
	return calls
}

// TestLongQueuesAreMerged: client-go keeps all that a slow handler has not heard of, kinform
// merges it per object once there is more than 1024 of it. No step is left out in
// between: what is old in a call is what was new in the one before.
func TestLongQueuesAreMerged(t *testing.T) {
	flood := story{
		server: func(s *server) { put("a")(s); put("b")(s) }, informer: joins,
		script: []moment{
			{"hold", []func(*player){hold("h"), on(put("a"))}, settled},
			{"flood", []func(*player){func(p *player) {
				for range 2000 {
					p.server.do(put("a"), put("b"))
				}
			}}, settled},
			{"let", []func(*player){let("h")}, settled},
		},
	}
	if calls := callsOf("h", flood.perform(t, theirs)); len(calls) != 3+4000 {
		t.Errorf("client-go makes %d calls", len(calls))
	}
	for _, s := range []side{ours, oursBytes} {
		calls := callsOf("h", flood.perform(t, s))
		if len(calls) < 5 || len(calls) > 3+1024 {
			t.Errorf("%s makes %d calls", s.name, len(calls))
		}
		last := map[string]string{}
		for _, call := range calls {
			words := strings.Fields(call)
			name, _, _ := strings.Cut(words[1], "@")
			if words[0] == "updated" {
				if words[1] != last[name] {
					t.Fatalf("%s: %q after %s", s.name, call, last[name])
				}
				last[name] = words[3]
			} else {
				last[name] = words[1]
			}
		}
		if last["a"] != "a@4002" || last["b"] != "b@4003" {
			t.Errorf("%s ends with %v", s.name, last)
		}
	}
}

// TestResyncsKeepTime: client-go starts to count again with each list, kinform goes on.
func TestResyncsKeepTime(t *testing.T) {
	relist := story{
		server: func(s *server) { put("a")(s) }, informer: joins, times: true,
		options: cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		script: []moment{
			{"begin", nil, settled},
			{"relist", []func(*player){on(breakWith(expired()))}, 30 * time.Second},
		},
	}
	ticks := func(s side) (ticks []string) {
		for _, call := range callsOf("h", relist.perform(t, s)) {
			if at, ok := strings.CutPrefix(call, "updated a@1 to a@1 at "); ok {
				ticks = append(ticks, at)
			}
		}
		return ticks
	}
	for _, s := range []side{ours, oursBytes} {
		if got := ticks(s); !slices.Equal(got, []string{"10s", "20s", "30s"}) {
			t.Errorf("%s: %v", s.name, got)
		}
	}
	if got := ticks(theirs); slices.Contains(got, "10s") {
		t.Errorf("client-go: %v", got)
	}
}

func unversioned(name string, labels ...string) *corev1.Pod {
	p := pod(name, 0, labels...)
	p.ResourceVersion = ""
	return p
}

// TestVersionIsNotLost: what has no version does not change how far the informer is;
// client-go forgets it then. After a list without a version, the first event's counts;
// client-go waits for one that is not an addition.
func TestVersionIsNotLost(t *testing.T) {
	version := func(s side, n story) string {
		lines := n.perform(t, s)
		last := slices.IndexFunc(lines, func(l string) bool { return l == "--- stopped" })
		_, after, _ := strings.Cut(lines[last+1], "version=")
		return strings.Fields(after + " none")[0]
	}
	unknown := story{server: three, script: []moment{{"add", []func(*player){on(send(watch.Added, unversioned("x")))}, settled}}}
	first := story{script: []moment{{"add", []func(*player){on(put("a"))}, settled}}}
	for _, test := range []struct {
		name  string
		story story
		want  map[string]string
	}{
		{"event", unknown, map[string]string{theirs.name: "controller=true", ours.name: "3", oursBytes.name: "3"}},
		{"list", first, map[string]string{theirs.name: "0", ours.name: "1", oursBytes.name: "1"}},
	} {
		for _, s := range []side{theirs, ours, oursBytes} {
			if got := version(s, test.story); got != test.want[s.name] {
				t.Errorf("%s of %s: version %q, want %q", test.name, s.name, got, test.want[s.name])
			}
		}
	}
}

// TestEventSentTwice: from bytes, kinform leaves it out; from objects (fakes that know no
// versions) it tells, as client-go does.
func TestEventSentTwice(t *testing.T) {
	twice := story{server: three, informer: joins, script: []moment{{"again", []func(*player){on(send(watch.Modified, pod("c", 3)))}, settled}}}
	for s, want := range map[string]int{theirs.name: 4, ours.name: 4, oursBytes.name: 3} {
		i := slices.IndexFunc([]side{theirs, ours, oursBytes}, func(o side) bool { return o.name == s })
		if calls := callsOf("h", twice.perform(t, []side{theirs, ours, oursBytes}[i])); len(calls) != want {
			t.Errorf("%s: %q", s, calls)
		}
	}
}

// TestKeysAreTheServers: whatever a transform makes of an object's name, it is found under
// the name that the server has for it.
func TestKeysAreTheServers(t *testing.T) {
	rename := func(obj any) (any, error) {
		obj.(*corev1.Pod).Name += "-renamed"
		return obj, nil
	}
	for _, s := range []side{theirs, ours, oursBytes} {
		lines := story{server: put("a"), informer: setTransform(rename), listOnly: true}.perform(t, s)
		want := "store=[a-renamed@1] keys=[ns/a]"
		if s.name == theirs.name {
			want = "store=[a-renamed@1] keys=[ns/a-renamed]"
		}
		if !slices.Contains(lines, want) {
			t.Errorf("%s: no %q in %q", s.name, want, lines)
		}
	}
}

// TestUnreadableFromBytes: what came as bytes is stored before it is decoded. While an object
// cannot be (its transform fails), its key is there, reading it is an error, lists
// leave it out, and handlers hear of it when it can be read again, or of its end.
func TestUnreadableFromBytes(t *testing.T) {
	lines := story{
		server: three, informer: func(p *player) { setTransform(failFor("b"))(p); join("h")(p) },
		script: []moment{
			{"begin", nil, settled},
			{"bad", []func(*player){on(put("b", "bad", "1"))}, settled},
			{"well", []func(*player){on(put("b"))}, settled},
			{"bad", []func(*player){on(put("b", "bad", "1"))}, settled},
			{"deleted", []func(*player){on(remove("b"))}, settled},
			{"unheard of", []func(*player){on(put("b", "bad", "1"))}, settled},
			{"and deleted", []func(*player){on(remove("b"))}, settled},
		},
	}.perform(t, oursBytes)
	want := []string{"updated b@5 to b@5", "deleted tombstone(ns/b b@7 map[bad:1])"}
	if got := callsOf("h", lines)[3:]; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Contains(lines, "store=[a@1 map[app:web] c@3] keys=[ns/a ns/b ns/c]") ||
		!slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "ns/b: GetByKey <nil> false cannot decode ns/b") }) {
		t.Errorf("got %q", lines)
	}
}

func kinded(version, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetResourceVersion("5")
	return u
}

// TestRemovedFromInside: with kinform, the call that removes its handler is the last;
// client-go may make another.
func TestRemovedFromInside(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayer(t, ours)
			var r cache.ResourceEventHandlerRegistration
			calls := 0
			r, _ = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
				if calls++; calls == 2 {
					if err := p.informer.RemoveEventHandler(r); err != nil {
						t.Error(err)
					}
				}
			}})
			started(p)
			p.server.do(put("d"))
			synctest.Wait()
			if calls != 2 || r.HasSynced() {
				t.Errorf("%d calls, synced %t", calls, r.HasSynced())
			}
			stop(p)
			<-p.ended
		})
	}
}

// TestShutDownFromInside: a handler can shut itself down, which makes client-go wait for
// ever. The call under way is its last.
func TestShutDownFromInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(t, ours)
		var r cache.ResourceEventHandlerRegistration
		calls := 0
		returned := make(chan error, 1)
		r, _ = p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			if calls++; calls == 2 {
				returned <- cache.ShutDownEventHandler(p.informer, r)
			}
		}})
		started(p)
		p.server.do(put("d"))
		synctest.Wait()
		if len(returned) == 0 {
			t.Fatal("waits for itself")
		}
		must(t, <-returned)
		must(t, cache.ShutDownEventHandler(p.informer, r)) // from outside: it has ended
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
		stop(p)
		<-p.ended
	})
}

// TestIndexersOfNil: an informer that was made without indexes can be given some, which
// makes client-go panic, and the map that one was made with stays the caller's.
func TestIndexersOfNil(t *testing.T) {
	add := func(s side, indexers cache.Indexers) (result string) {
		defer func() {
			if p := recover(); p != nil {
				result = fmt.Sprint("panic: ", p)
			}
		}()
		i := s.make(newServer(newTrace()), &corev1.Pod{}, cache.SharedIndexInformerOptions{Indexers: indexers})
		return fmt.Sprint(i.AddIndexers(cache.Indexers{"added": byApp}), len(indexers))
	}
	for _, test := range []struct {
		side     side
		indexers cache.Indexers
		want     string
	}{
		{theirs, nil, "panic: assignment to entry in nil map"},
		{ours, nil, "<nil> 0"},
		{theirs, cache.Indexers{}, "<nil> 1"},
		{ours, cache.Indexers{}, "<nil> 0"},
	} {
		if got := add(test.side, test.indexers); got != test.want {
			t.Errorf("%s with %v: %s, want %s", test.side.name, test.indexers, got, test.want)
		}
	}
}

// TestRequests pins what each asks a server for.
func TestRequests(t *testing.T) {
	n := story{server: three, script: []moment{
		{"begin", nil, settled},
		{"disconnect", []func(*player){on(disconnect)}, settled},
		{"relist", []func(*player){on(breakWith(expired()))}, settled},
	}}
	list, follow := `list version=%q limit=%d continue="" match=%q`, `watch version="3" initial=false match="" bookmarks=true`
	want := map[string][]string{
		theirs.name: {
			fmt.Sprintf(list, "0", 500, ""), follow, // the first list is asked for in pages
			follow,
			fmt.Sprintf(list, "3", 0, ""), follow,
		},
		ours.name: {
			fmt.Sprintf(list, "", 0, ""), follow, // in one piece, and of the newest state
			follow,
			fmt.Sprintf(list, "3", 0, "NotOlderThan"), follow,
		},
		oursBytes.name: {
			fmt.Sprintf(list, "", 0, ""), follow,
			fmt.Sprintf(list, "3", 1, "NotOlderThan"), follow, // a watch that ended early: has the server's history gone back?
			fmt.Sprintf(list, "3", 0, "NotOlderThan"), follow,
		},
	}
	for _, s := range []side{theirs, ours, oursBytes} {
		var got []string
		n.informer = func(p *player) { p.t.Cleanup(func() { got = p.server.log.take() }) }
		n.perform(t, s)
		if !slices.Equal(got, want[s.name]) {
			t.Errorf("%s asks\n%s\nwant\n%s", s.name, strings.Join(got, "\n"), strings.Join(want[s.name], "\n"))
		}
	}
	t.Run("initial events", func(t *testing.T) {
		for s, want := range map[*side]int{&theirs: 0, &ours: 1} {
			var got []string
			story{server: three, watch: true, informer: func(p *player) {
				p.t.Cleanup(func() { got = p.server.log.take() })
			}}.perform(t, *s)
			lists := slices.DeleteFunc(slices.Clone(got), func(l string) bool { return !strings.HasPrefix(l, "list") })
			if len(lists) != want {
				t.Errorf("%s asks %q", s.name, got)
			}
		}
	})
}

// TestRelistTellsAdditionsFirst: client-go tells the ends of a relist first, kinform the list in its
// order, then the ends.
func TestRelistTellsAdditionsFirst(t *testing.T) {
	n := story{server: three, informer: joins, ordered: true, quiet: true, script: []moment{
		{"begin", nil, settled},
		{"relist", []func(*player){on(disconnect, remove("a"), put("c"), put("d"), forget)}, long},
	}}
	want := map[string][]string{
		theirs.name: {"deleted tombstone(ns/a a@1 map[app:web])", "updated c@3 to c@5", "added d@6 initial=false"},
		ours.name:   {"updated c@3 to c@5", "added d@6 initial=false", "deleted tombstone(ns/a a@1 map[app:web])"},
	}
	for _, s := range []side{theirs, ours} {
		if got := callsOf("h", n.perform(t, s))[3:]; !slices.Equal(got, want[s.name]) {
			t.Errorf("%s: %q", s.name, got)
		}
	}
}

// TestStoreVersion: what a program writes to the store itself does not change how far the
// store is; with client-go it does.
func TestStoreVersion(t *testing.T) {
	n := story{server: three, script: []moment{{"write", []func(*player){edit(func(x cache.Indexer) error { return x.Add(pod("x", 77)) })}, 0}}}
	for s, want := range map[*side]string{&theirs: "store at 77", &ours: "store at 3", &oursBytes: "store at 3"} {
		if lines := n.perform(t, *s); !slices.Contains(lines[len(lines)/2:], want) {
			t.Errorf("%s: no %q in %q", s.name, want, lines)
		}
	}
}
