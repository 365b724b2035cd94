package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/snapshot"
)

// onDisk returns options with a snapshot in a folder.
func onDisk(dir string, o ReflectorOptions) ReflectorOptions {
	o.Snapshot.Open = func(ns string) (*snapshot.File, error) {
		return snapshot.Open(dir, snapshot.Scope{Server: "here", Resource: "things", Namespace: ns}, snapshot.Options{})
	}
	return o
}

// heard is what a handler was called with.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) handle(_ context.Context, d Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, fmt.Sprintf("%s %s@%s", d.Kind, d.New.Name(), d.New.Version()))
}

func (h *heard) sorted() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(h.all)), ", ")
}

// witness answers probes as a server does that selects by name.
func (s *playbook) witness(o ListOptions) (ListStream, error) {
	if !o.Probe {
		return answer(s.version, s.items), nil
	}
	if ParseVersion(s.version).Before(ParseVersion(o.ResourceVersion)) {
		return nil, tooLarge
	}
	only := maps.Clone(s.items)
	maps.DeleteFunc(only, func(name, _ string) bool { return "ns/"+name != o.Object })
	return answer(s.version, only), nil
}

// run runs an informer in the bubble of the test.
func run(t *testing.T, s *playbook, o ReflectorOptions, play func(*Informer, *heard)) {
	t.Helper()
	s.events = make(chan Event, 8192)
	s.asked, s.watched = nil, nil
	if s.list == nil {
		s.list = s.witness
	}
	inf := NewInformer(Options{}, o, map[string]Source{"": s})
	h := new(heard)
	inf.Subscribe(h.handle, SubscribeOptions{})
	stop := playing(t, inf)
	synctest.Wait()
	play(inf, h)
	stop()
}

// before has a snapshot written: a@61 and b@50, at version 61.
func before(t *testing.T, dir string) {
	t.Helper()
	s := newPlaybook("60", map[string]string{"a": "u1@10", "b": "u2@50"})
	run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
		if err := inf.Status()[0].Snapshot.SetAside; !errors.Is(err, snapshot.ErrNone) {
			t.Errorf("set aside at first: %v", err)
		}
		s.sends(modified("a", "u1@61"))
		<-time.After(5 * time.Second)
		synctest.Wait()
		if v := inf.Status()[0].Snapshot.Version.String(); v != "61" {
			t.Errorf("the file has reached %q: %v", v, inf.Status()[0].Snapshot.Failure)
		}
	})
}

var onFile = map[string]string{"a": "u1@61", "b": "u2@50"}

// TestWarmStart: what follows a start from disk.
func TestWarmStart(t *testing.T) {
	type story struct {
		name    string
		version string            // that the server has now
		items   map[string]string // nil: what was kept
		options ReflectorOptions
		play    func(*playbook, *Informer)
		lists   int
		heard   string
		aside   error
		epochs  uint64
	}
	later := map[string]string{"a": "u1@61", "b": "u2@70", "c": "u3@71"}
	for _, c := range []story{
		{name: "nothing has happened", version: "61", heard: "added a@61, added b@50"},
		{name: "nothing has happened, only changes are heard", version: "61", options: ReflectorOptions{Snapshot: SnapshotOptions{OnlyChanges: true}}},
		{name: "the watch brings what happened", version: "75", items: later, play: func(s *playbook, inf *Informer) {
			s.sends(modified("b", "u2@70"), addedAs("c", "u3@71"))
			if inf.HasSynced() {
				t.Error("synced before the watch has reached the server's version")
			}
			s.sends(bookmarkAt(75))
		}, heard: "added a@61, added b@70, added c@71"},
		{name: "only changes are heard", version: "75", items: later, options: ReflectorOptions{Snapshot: SnapshotOptions{OnlyChanges: true}}, play: func(s *playbook, _ *Informer) {
			s.sends(modified("b", "u2@70"), addedAs("c", "u3@71"), bookmarkAt(75))
		}, heard: "added c@71, updated b@70"},
		{name: "no bookmark, but an end in time", version: "75", play: func(s *playbook, _ *Informer) {
			<-time.After(confirmIn)
			s.sends(ends)
		}, heard: "added a@61, added b@50"},
		{name: "neither bookmark nor end", version: "75", items: later, play: func(*playbook, *Informer) {
			<-time.After(3 * confirmIn)
		}, lists: 1, heard: "added a@61, added b@70, added c@71"},
		{name: "the version is forgotten", version: "75", items: later, play: func(s *playbook, _ *Informer) {
			s.sends(forgets)
		}, lists: 1, heard: "added a@61, added b@70, added c@71"},
		{name: "the version is forgotten, only changes are heard", version: "75", items: map[string]string{"a": "u1@61", "c": "u3@71"},
			options: ReflectorOptions{Snapshot: SnapshotOptions{OnlyChanges: true}}, play: func(s *playbook, _ *Informer) {
				s.sends(forgets)
			}, lists: 1, heard: "added c@71, deleted b@50"},
		{name: "the history went back", version: "40", items: map[string]string{"a": "u1@10"},
			lists: 1, heard: "added a@10", aside: errDiverged, epochs: 1},
		{name: "the history went back and is ahead again", version: "90", items: map[string]string{"a": "u1@10", "d": "u4@88"},
			lists: 1, heard: "added a@10, added d@88", aside: errDiverged},
		{name: "another server", version: "90", items: map[string]string{"a": "x1@61", "b": "x2@50"},
			lists: 1, heard: "added a@61, added b@50", aside: errUnproven},
		{name: "all is gone", version: "90", items: map[string]string{}, lists: 1, aside: errUnproven},
		{name: "the newest is gone", version: "75", items: map[string]string{"b": "u2@50"}, play: func(s *playbook, _ *Informer) {
			s.sends(deletedAs("a", "u1@70"), bookmarkAt(75))
		}, heard: "added b@50"},
		{name: "the newest is not there and was not deleted", version: "75", items: map[string]string{"b": "u2@50"}, play: func(s *playbook, _ *Informer) {
			s.sends(bookmarkAt(75))
		}, lists: 1, heard: "added b@50", aside: errDiverged},
		{name: "the newest has changed", version: "75", items: map[string]string{"a": "u1@70", "b": "u2@50"}, play: func(s *playbook, _ *Informer) {
			s.sends(modified("a", "u1@70"), bookmarkAt(75))
		}, heard: "added a@70, added b@50"},
		{name: "all have changed", version: "75", items: map[string]string{"a": "u1@70", "b": "u2@71"},
			lists: 1, heard: "added a@70, added b@71", aside: errUnproven},
		{name: "the newest has changed and no event says so", version: "75", items: map[string]string{"a": "u1@70", "b": "u2@50"}, play: func(s *playbook, _ *Informer) {
			s.sends(bookmarkAt(75))
		}, lists: 1, heard: "added a@70, added b@50", aside: errDiverged},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				before(t, dir)
				if c.items == nil {
					c.items = onFile
				}
				s := newPlaybook(c.version, c.items)
				run(t, s, onDisk(dir, c.options), func(inf *Informer, h *heard) {
					if c.play != nil {
						holds(t, inf.Collection, onFile)
						if st := inf.Status()[0]; inf.HasSynced() || st.Synced || !st.Snapshot.Unconfirmed || st.Snapshot.Restored != 2 {
							t.Errorf("before it is confirmed: synced %v, %+v", inf.HasSynced(), st)
						}
						if _, open := <-inf.Readable(); open {
							t.Error("it cannot be read")
						}
						c.play(s, inf)
					}
					synctest.Wait()
					st := inf.Status()[0]
					if !inf.HasSynced() || !st.Synced || st.Snapshot.Unconfirmed {
						t.Errorf("not confirmed: %+v", st)
					}
					if n := len(s.lists()); n != c.lists {
						t.Errorf("%d lists, want %d", n, c.lists)
					}
					if got := h.sorted(); got != c.heard {
						t.Errorf("heard %q, want %q", got, c.heard)
					}
					if !errors.Is(st.Snapshot.SetAside, c.aside) || st.Epochs != c.epochs {
						t.Errorf("set aside: %v, %d epochs; want %v, %d", st.Snapshot.SetAside, st.Epochs, c.aside, c.epochs)
					}
					if c.lists > 0 {
						holds(t, inf.Collection, c.items)
					}
				})
				// And the one after that begins where this one was.
				s = newPlaybook("1000", map[string]string{})
				s.list = func(ListOptions) (ListStream, error) { return nil, errors.New("unreachable") }
				want := c.items
				if c.lists == 0 && c.play == nil || strings.Contains(c.name, "no bookmark") {
					want = onFile
				}
				run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, h *heard) {
					holds(t, inf.Collection, want)
					if inf.HasSynced() || h.sorted() != "" {
						t.Errorf("without a server: synced %v, heard %q", inf.HasSynced(), h.sorted())
					}
				})
			})
		})
	}
}

// TestWarmLateJoiner: who joins between the start from disk and the confirmation is told
// of each object once.
func TestWarmLateJoiner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		s := newPlaybook("75", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			late := new(heard)
			sub := inf.Subscribe(late.handle, SubscribeOptions{})
			s.sends(modified("b", "u2@70"))
			if got := late.sorted(); got != "" {
				t.Errorf("heard %q before it was confirmed", got)
			}
			s.sends(bookmarkAt(75))
			if got := late.sorted(); got != "added a@61, added b@70" {
				t.Errorf("heard %q", got)
			}
			<-sub.Synced()
			s.sends(modified("b", "u2@76"))
			if got := late.sorted(); got != "added a@61, added b@70, updated b@76" {
				t.Errorf("then heard %q", got)
			}
		})
	})
}

// TestWarmWithoutServer: a server that cannot be reached leaves what the disk had to be
// read, and the status says how old it is.
func TestWarmWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		last := time.Now()
		<-time.After(time.Hour)
		s := newPlaybook("61", onFile)
		s.list = func(ListOptions) (ListStream, error) { return nil, &brokenError{} }
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, h *heard) {
			holds(t, inf.Collection, onFile)
			<-time.After(time.Minute)
			st := inf.Status()[0]
			if inf.HasSynced() || !st.Snapshot.Unconfirmed || st.Cause == nil || st.LastContact.After(last) || h.sorted() != "" {
				t.Errorf("synced %v, heard %q, %+v", inf.HasSynced(), h.sorted(), st)
			}
			s.mu.Lock()
			s.list = s.witness
			s.mu.Unlock()
			<-time.After(2 * time.Minute)
			synctest.Wait()
			if st := inf.Status()[0]; !inf.HasSynced() || st.Cause != nil || h.sorted() != "added a@61, added b@50" {
				t.Errorf("once it is back: synced %v, heard %q, %+v", inf.HasSynced(), h.sorted(), st)
			}
		})
	})
}

type brokenError struct{}

func (*brokenError) Error() string { return "connection refused" }

// TestWarmDamaged: what cannot be used leads to a cold start, with the reason in the
// status, and to a good file.
func TestWarmDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		files, _ := filepath.Glob(filepath.Join(dir, "*", "*.snap"))
		if len(files) != 1 {
			t.Fatal(files)
		}
		if err := os.Truncate(files[0], 100); err != nil {
			t.Fatal(err)
		}
		s := newPlaybook("75", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, h *heard) {
			st := inf.Status()[0]
			if !inf.HasSynced() || !errors.Is(st.Snapshot.SetAside, snapshot.ErrDamaged) || len(s.lists()) != 1 || h.sorted() != "added a@61, added b@50" {
				t.Errorf("synced %v, heard %q, %+v", inf.HasSynced(), h.sorted(), st)
			}
		})
		s = newPlaybook("75", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			if st := inf.Status()[0]; st.Snapshot.SetAside != nil || len(s.lists()) != 0 || !inf.HasSynced() {
				t.Errorf("the file was not replaced: %+v", st)
			}
		})
	})
}
