package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// playbook is a server whose every word a test chooses.
type playbook struct {
	mu      sync.Mutex
	version string
	items   map[string]string // by name: uid@version, or uid@version=color
	asked   []ListOptions
	watched []WatchOptions
	events  chan Event // taken by whichever watch is open

	// list, if set, answers instead of version and items.
	list func(ListOptions) (ListStream, error)
	// watch, if set, answers instead of events.
	watch func(context.Context, WatchOptions) (WatchStream, error)
}

func newPlaybook(version string, items map[string]string) *playbook {
	return &playbook{version: version, items: maps.Clone(items), events: make(chan Event, 4096)}
}

func (s *playbook) String() string { return "scripted things" }

// item is an object as a playbook writes it: uid@version, or uid@version=color.
func item(name, state string) Item {
	var uid, version, color string
	for i, c := range state {
		if c == '@' {
			uid, version = state[:i], state[i+1:]
		}
	}
	for i, c := range version {
		if c == '=' {
			version, color = version[:i], version[i+1:]
			break
		}
	}
	return Item{Format: wire.JSON, Bytes: fmt.Appendf(nil,
		`{"metadata":{"namespace":"ns","name":%q,"uid":%q,"resourceVersion":%q,"labels":{"color":%q}}}`, name, uid, version, color)}
}

// answer is a list of what a playbook holds.
func answer(version string, items map[string]string) ListStream {
	l := &scriptList{version: version}
	for _, name := range slices.Sorted(maps.Keys(items)) {
		l.items = append(l.items, item(name, items[name]))
	}
	return l
}

func (s *playbook) List(_ context.Context, o ListOptions) (ListStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, o)
	if s.list != nil {
		return s.list(o)
	}
	if o.Probe {
		return answer(s.version, nil), nil
	}
	return answer(s.version, s.items), nil
}

// lists returns the requests for lists, without probes.
func (s *playbook) lists() []ListOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.asked), func(o ListOptions) bool { return o.Probe })
}

type scriptList struct {
	items   []Item
	version string
}

func (l *scriptList) Next() (Item, error) {
	if len(l.items) == 0 {
		return Item{}, io.EOF
	}
	it := l.items[0]
	l.items = l.items[1:]
	return it, nil
}

func (l *scriptList) Meta() wire.ListMeta {
	return wire.ListMeta{APIVersion: "v1", Kind: "ThingList", ResourceVersion: l.version}
}
func (l *scriptList) Received() int64 { return 0 }
func (l *scriptList) Close() error    { return nil }

func (s *playbook) Watch(ctx context.Context, o WatchOptions) (WatchStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = append(s.watched, o)
	if s.watch != nil {
		return s.watch(ctx, o)
	}
	return &scriptWatch{s, ctx}, nil
}

type scriptWatch struct {
	*playbook
	ctx context.Context
}

// Events that end a watch: as servers do from time to time, and because the version is
// forgotten.
var ends, forgets = Event{}, Event{Type: 255}

func (w *scriptWatch) Next() (Event, error) {
	select {
	case ev := <-w.events:
		if ev.Type == 0 {
			return ev, io.EOF
		}
		if ev.Type == forgets.Type {
			return ev, status(410, "Expired")
		}
		return ev, nil
	case <-w.ctx.Done():
		return Event{}, w.ctx.Err()
	}
}
func (w *scriptWatch) Buffered() bool { return len(w.events) > 0 }
func (w *scriptWatch) Close() error   { return nil }

// sends has the watch send events, in one batch.
func (s *playbook) sends(events ...Event) {
	for _, ev := range events {
		s.events <- ev
	}
	synctest.Wait()
}

func addedAs(name, state string) Event   { return Event{Type: wire.Added, Item: item(name, state)} }
func modified(name, state string) Event  { return Event{Type: wire.Modified, Item: item(name, state)} }
func deletedAs(name, state string) Event { return Event{Type: wire.Deleted, Item: item(name, state)} }
func bookmarkAt(version uint64) Event {
	return Event{Type: wire.Bookmark, Item: bookmarkItem(version)}
}

// holds fails unless the store has exactly these objects: uid@version, by name.
func holds(t *testing.T, c *Collection, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for r := range c.All() {
		got[r.Name()] = r.UID() + "@" + r.Version().String()
		if color := r.Labels().Get("color"); color != "" {
			got[r.Name()] += "=" + color
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the store has %d objects, %.300s, want %d, %.300s", len(got), fmt.Sprint(got), len(want), fmt.Sprint(want))
	}
}

// scripted runs an informer on a playbook in a bubble.
func scripted(t *testing.T, s *playbook, o ReflectorOptions, play func(*Informer)) {
	scriptedAs(t, s, s, o, play)
}

// scriptedAs is scripted for a source that is more than the playbook.
func scriptedAs(t *testing.T, s *playbook, source Source, o ReflectorOptions, play func(*Informer)) {
	synctest.Test(t, func(t *testing.T) {
		inf := NewInformer(Options{}, o, map[string]Source{"": source})
		s.events = make(chan Event, 8192) // of this bubble
		defer playing(t, inf)()
		synctest.Wait()
		play(inf)
	})
}

// TestVersionsProveOrderWithinOneObject: an event is stale only if the store has that
// state of that very object, or a newer one, or if the object's end is known.
func TestVersionsProveOrderWithinOneObject(t *testing.T) {
	first := map[string]string{"a": "u1@10", "b": "u2@50"}
	for _, c := range []struct {
		name    string
		version string // of the list
		events  []Event
		want    map[string]string
		stale   uint64
	}{
		{"an unknown object with an old version", "60", []Event{addedAs("c", "u3@5")},
			map[string]string{"a": "u1@10", "b": "u2@50", "c": "u3@5"}, 0},
		{"the end with the stored version", "60", []Event{deletedAs("a", "u1@10")}, map[string]string{"b": "u2@50"}, 0},
		{"the end with an older version", "60", []Event{deletedAs("b", "u2@40")}, first, 1},
		{"after a list without a version", "", []Event{modified("a", "u1@70"), addedAs("c", "u3@3"), modified("b", "u2@55")},
			map[string]string{"a": "u1@70", "b": "u2@55", "c": "u3@3"}, 0},
		{"a state before the stored one", "60", []Event{modified("b", "u2@40")}, first, 1},
		{"the stored state", "60", []Event{modified("b", "u2@50")}, first, 1},
		{"a newer state that is older than the list", "60", []Event{modified("a", "u1@11")}, map[string]string{"a": "u1@11", "b": "u2@50"}, 0},
		{"again after its end", "60", []Event{addedAs("c", "u3@61"), deletedAs("c", "u3@62"), addedAs("c", "u3@61")}, first, 1},
		{"again after its end, another object between", "60",
			[]Event{deletedAs("a", "u1@61"), addedAs("a", "u9@62"), modified("a", "u1@10"), deletedAs("a", "u1@61")},
			map[string]string{"a": "u9@62", "b": "u2@50"}, 2},
		{"another object of that name, with a lower version", "60", []Event{deletedAs("b", "u2@50"), addedAs("b", "u8@1")},
			map[string]string{"a": "u1@10", "b": "u8@1"}, 0},
		{"hidden and shown again in the same state", "60", []Event{deletedAs("a", "u1@10"), addedAs("a", "u1@10")}, first, 0},
		{"late: two events have changed places", "60", []Event{modified("a", "u1@62"), modified("b", "u2@61")},
			map[string]string{"a": "u1@62", "b": "u2@61"}, 0},
		{"versions that are no numbers", "60", []Event{modified("a", "u1@x"), modified("a", "u1@w")},
			map[string]string{"a": "u1@w", "b": "u2@50"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newPlaybook(c.version, first)
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				s.sends(c.events...)
				holds(t, inf.Collection, c.want)
				st := inf.Status()[0]
				if st.Stale != c.stale {
					t.Errorf("%d events are counted as stale, want %d", st.Stale, c.stale)
				}
				if v := st.Version; c.version == "60" && v.Before(version(60)) {
					t.Errorf("the watch would be resumed at %s, before the list", v)
				}
				if st.Lists != 1 {
					t.Errorf("%d lists, want one", st.Lists)
				}
			})
		})
	}
}

// TestStaleIsLoggedOnce and counted after that.
func TestStaleIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		var log lines
		inf := NewInformer(Options{Log: log.log}, ReflectorOptions{}, map[string]Source{"": s})
		defer playing(t, inf)()
		for range 20 {
			s.sends(modified("a", "u1@9"))
		}
		if n := log.count("left out"); n != 1 || inf.Status()[0].Stale != 20 {
			t.Errorf("%d lines and %d events, want one line and 20 events: %q", n, inf.Status()[0].Stale, log.all)
		}
	})
}

// TestOldVersionsDoNotRelistForEver: a server that shows objects with versions from
// long ago, after more ends than are remembered, is asked for a list once; then its
// ways are known. One that sends again what ended long ago is asked ever more rarely.
func TestOldVersionsDoNotRelistForEver(t *testing.T) {
	for _, truthful := range []bool{true, false} {
		t.Run(fmt.Sprint("truthful=", truthful), func(t *testing.T) {
			s := newPlaybook("10000", map[string]string{})
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				for i := range uint64(rememberedRemovals + 1) {
					s.sends(deletedAs(fmt.Sprint("o", i), fmt.Sprintf("d%d@%d", i, 10001+i)))
				}
				want := map[string]string{}
				for i := range 600 {
					name, state := fmt.Sprint("n", i), fmt.Sprintf("n%d@%d", i, 100+i)
					s.mu.Lock()
					if s.version = "30000"; truthful {
						want[name], s.items[name] = state, state
					}
					s.mu.Unlock()
					s.sends(addedAs(name, state))
					time.Sleep(time.Second)
				}
				time.Sleep(time.Minute)
				holds(t, inf.Collection, want)
				n := len(s.lists())
				t.Logf("%d lists in 11 minutes of such events", n)
				if truthful && n > 2 || n > 40 {
					t.Errorf("%d lists, want them rare", n)
				}
			})
		})
	}
}

// TestResumeWhereVersionsAreUnordered: where a watch brought states from before the
// list, what happened between two watches is not left to versions.
func TestResumeWhereVersionsAreUnordered(t *testing.T) {
	for _, version := range []string{"60", ""} {
		s := newPlaybook(version, map[string]string{"a": "u1@10"})
		scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
			s.sends(addedAs("b", "u2@5"))
			s.mu.Lock()
			s.items = map[string]string{"b": "u2@5", "c": "u3@4"} // which no watch tells
			s.mu.Unlock()
			time.Sleep(5 * time.Second)
			s.sends(ends)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			holds(t, inf.Collection, map[string]string{"b": "u2@5", "c": "u3@4"})
			before := len(s.lists())
			for range 100 {
				s.sends(addedAs("b", "u2@5"), deletedAs("c", "u3@4"), addedAs("c", "u3@4"), ends)
			}
			if n := len(s.lists()) - before; n > 2 {
				t.Errorf("list version %q: %d lists for 100 watches in no time", version, n)
			}
		})
	}
}

// TestListsOfAnotherCounter: where items are newer than their list, watches resume
// only where lists and bookmarks said.
func TestListsOfAnotherCounter(t *testing.T) {
	s := newPlaybook("7", map[string]string{"a": "u1@5000"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.sends(modified("a", "u1@5001"), addedAs("b", "u2@9000"))
		s.mu.Lock()
		s.version = "8"
		s.mu.Unlock()
		s.sends(bookmarkAt(8))
		time.Sleep(2 * time.Second)
		s.sends(ends)
		holds(t, inf.Collection, map[string]string{"a": "u1@5001", "b": "u2@9000"})
		st := inf.Status()[0]
		if last := s.watched[len(s.watched)-1]; last.ResourceVersion != "8" || st.Epochs != 0 || st.Lists != 1 {
			t.Errorf("resumed at %s, %d epochs, %d lists; want 8, none, one", last.ResourceVersion, st.Epochs, st.Lists)
		}
	})
}
