package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/snapshot"
)

// forbids answers each probe with 403, and lists.
func (s *playbook) forbids(o ListOptions) (ListStream, error) {
	if o.Probe {
		return nil, status(403, "Forbidden")
	}
	return answer(s.version, s.items), nil
}

// TestWarmDoubts: what a server has is compared with the disk, however it can be asked.
func TestWarmDoubts(t *testing.T) {
	for _, c := range []struct {
		name    string
		version string
		items   map[string]string
		list    func(*playbook, ListOptions) (ListStream, error)
		lists   int
		heard   string
		aside   error
	}{
		{name: "it does not answer for one object, and its history went back and is ahead again", version: "90",
			items: map[string]string{"a": "u1@10", "d": "u4@88"}, list: (*playbook).forbids,
			lists: 1, heard: "added a@10, added d@88"},
		{name: "it does not answer for one object, and has another state under its version", version: "90",
			items: map[string]string{"a": "u1@61=red", "b": "u2@50"}, list: (*playbook).forbids,
			lists: 1, heard: "added a@61, added b@50"},
		{name: "the server shows the newest object otherwise", version: "90",
			items: map[string]string{"a": "u1@61=red", "b": "u2@50=red"},
			lists: 1, heard: "added a@61, added b@50", aside: errOtherwise},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				before(t, dir)
				s := newPlaybook(c.version, c.items)
				if c.list != nil {
					s.list = func(o ListOptions) (ListStream, error) { return c.list(s, o) }
				}
				run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, h *heard) {
					<-time.After(time.Second)
					synctest.Wait()
					holds(t, inf.Collection, c.items)
					st := inf.Status()[0].Snapshot
					if !inf.HasSynced() || len(s.lists()) != c.lists || h.sorted() != c.heard || !errors.Is(st.SetAside, c.aside) {
						t.Errorf("synced %v, %d lists, heard %q, %+v", inf.HasSynced(), len(s.lists()), h.sorted(), st)
					}
				})
			})
		})
	}
}

// TestWarmDeletionUndone: that a server has an object again whose end was the last that
// the disk knows of proves that its history went back.
func TestWarmDeletionUndone(t *testing.T) {
	for _, undone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			first := newPlaybook("60", onFileBefore)
			run(t, first, onDisk(dir, ReflectorOptions{}), func(*Informer, *heard) {
				first.sends(deletedAs("a", "u1@61"), bookmarkAt(62))
				<-time.After(5 * time.Second)
			})
			want, lists := map[string]string{"b": "u2@50"}, 0
			if undone {
				want, lists = onFileBefore, 1
			}
			for i := range uint64(2) { // the second one knows it from the first
				s := newPlaybook(fmt.Sprint(62+i), want)
				run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
					holds(t, inf.Collection, want)
					if st := inf.Status()[0].Snapshot; len(s.lists()) != lists || undone != errors.Is(st.SetAside, errDiverged) {
						t.Errorf("undone %v: %d lists, %+v", undone, len(s.lists()), st)
					}
					s.sends(bookmarkAt(63 + i))
				})
				lists, undone = 0, false
			}
		})
	}
}

var onFileBefore = map[string]string{"a": "u1@10", "b": "u2@50"}

// TestWarmWaits: that the disk has reached a version ends no wait for it, before the
// server has confirmed it; then nothing is asked for the waits' sake.
func TestWarmWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		s := newPlaybook("75", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			ended := make(chan error, 3)
			go func() { ended <- inf.WaitFor(t.Context(), version(60)) }()
			go func() { ended <- inf.WaitForObject(t.Context(), Object{Namespace: "ns", Name: "a"}, version(61)) }()
			go func() { _, err := inf.CatchUp(t.Context()); ended <- err }()
			<-time.After(2 * time.Second)
			synctest.Wait()
			if len(ended) != 0 {
				t.Errorf("%d waits have ended before the server has confirmed anything", len(ended))
			}
			s.sends(bookmarkAt(75))
			for range 3 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			if n := len(s.lists()); n != 0 {
				t.Errorf("%d lists", n)
			}
		})
	})
}

// TestWarmWaitsWithoutServer end with their context.
func TestWarmWaitsWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		s := newPlaybook("61", onFile)
		s.list = func(ListOptions) (ListStream, error) { return nil, &brokenError{} }
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := inf.WaitFor(ctx, version(61)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the wait ended with %v", err)
			}
		})
	})
}

// TestUnlockedLater: an informer whose snapshot another one has writes one once that has
// ended.
func TestUnlockedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		scope := snapshot.Scope{Server: "here", Resource: "things"}
		other, err := snapshot.Open(dir, scope, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := newPlaybook("61", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			<-time.After(time.Minute)
			if st := inf.Status()[0].Snapshot; !errors.Is(st.Failure, snapshot.ErrLocked) {
				t.Errorf("while another one has it: %+v", st)
			}
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Minute)
			synctest.Wait()
			if st := inf.Status()[0].Snapshot; st.Failure != nil || st.Version.String() != "61" || st.Path == "" {
				t.Errorf("once it is free: %+v", st)
			}
		})
		s = newPlaybook("61", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			if len(s.lists()) != 0 || !inf.HasSynced() {
				t.Errorf("%d lists, %+v", len(s.lists()), inf.Status()[0])
			}
		})
	})
}

// TestHandover: a file whose owner is about to end is waited for.
func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		other, err := snapshot.Open(dir, snapshot.Scope{Server: "here", Resource: "things"}, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(handover/2, func() { _ = other.Close() })
		s := newPlaybook("61", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			<-time.After(handover)
			synctest.Wait()
			if st := inf.Status()[0].Snapshot; st.Restored != 2 || len(s.lists()) != 0 || !inf.HasSynced() {
				t.Errorf("%d lists, %+v", len(s.lists()), st)
			}
		})
	})
}

// TestNoSnapshotWithDoubt: while a list has to show what an event was, of which the
// version is passed, nothing is kept that lacks it.
func TestNoSnapshotWithDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newPlaybook("10000", map[string]string{})
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			for i := range uint64(rememberedRemovals + 1) {
				s.sends(deletedAs(fmt.Sprint("o", i), fmt.Sprintf("d%d@%d", i, 10001+i)))
			}
			s.mu.Lock()
			s.version = "30000"
			s.mu.Unlock()
			for i := range 2 { // nobody knows whether they were deleted long ago
				s.sends(addedAs(fmt.Sprint("n", i), fmt.Sprintf("n%d@%d", i, 100+i)))
			}
			s.sends(addedAs("c", "u3@30001"))
			holds(t, inf.Collection, map[string]string{"c": "u3@30001"})
		})
		if files, _ := filepath.Glob(filepath.Join(dir, "*", "*.snap")); files != nil {
			t.Errorf("%v was left", files)
		}
	})
}

// TestStoppedUnconfirmed: an informer that ends before the server has confirmed what the
// disk had, and is run again, still knows that it is not confirmed.
func TestStoppedUnconfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		s := newPlaybook("61", onFile)
		s.list = func(ListOptions) (ListStream, error) { return nil, &brokenError{} }
		inf := NewInformer(Options{}, onDisk(dir, ReflectorOptions{}), map[string]Source{"": s})
		for range 2 {
			stop := playing(t, inf)
			synctest.Wait()
			if st := inf.Status()[0].Snapshot; !st.Unconfirmed || st.Restored != 2 || inf.HasSynced() {
				t.Errorf("%+v", st)
			}
			stop()
		}
		s.mu.Lock()
		s.list, s.asked = s.witness, nil
		s.mu.Unlock()
		defer playing(t, inf)()
		synctest.Wait()
		if st := inf.Status()[0].Snapshot; st.Unconfirmed || !inf.HasSynced() || len(s.lists()) != 0 {
			t.Errorf("%d lists, %+v", len(s.lists()), st)
		}
	})
}
