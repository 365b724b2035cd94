package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/snapshot"
	"github.com/kinform/kinform/wire"
)

// TestLockedOut: an informer whose snapshot another one has runs without it.
func TestLockedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newPlaybook("60", onFile)
		run(t, s, onDisk(dir, ReflectorOptions{}), func(*Informer, *heard) {
			other := newPlaybook("60", onFile)
			run(t, other, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
				<-time.After(2 * handover)
				synctest.Wait()
				if st := inf.Status()[0]; !inf.HasSynced() || !errors.Is(st.Snapshot.Failure, snapshot.ErrLocked) {
					t.Errorf("synced %v, %+v", inf.HasSynced(), st)
				}
			})
		})
	})
}

// TestNoSnapshotWithoutOrder: where versions do not say where to go on, nothing is kept.
func TestNoSnapshotWithoutOrder(t *testing.T) {
	for _, version := range []string{"", "w5", "7"} { // the last one is lower than that of its items
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			s := newPlaybook(version, onFile)
			s.list = func(ListOptions) (ListStream, error) { return answer(version, onFile), nil }
			run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
				<-time.After(5 * time.Second)
				synctest.Wait()
				if inf.Status()[0].Snapshot.Failure == nil {
					t.Errorf("version %q: the status does not say why nothing is kept", version)
				}
			})
			if files, _ := filepath.Glob(filepath.Join(dir, "*", "*.snap")); files != nil {
				t.Errorf("version %q: %v was written", version, files)
			}
		})
	}
}

// large is an object of 20 kB.
func large(i int, version uint64) Item {
	return Item{Format: wire.JSON, Bytes: fmt.Appendf(nil,
		`{"metadata":{"namespace":"ns","name":"o%d","uid":"u%d","resourceVersion":"%d"},"data":%q}`, i, i, version, strings.Repeat(fmt.Sprint(i*7919), 4000))}
}

// TestJournalLags: where more comes than is written, the whole is written later, and the
// reflector does not wait.
func TestJournalLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			<-time.After(time.Minute)
			var events []Event
			for i := range 600 { // 12 MB, before the journal has a second
				events = append(events, Event{Type: wire.Added, Item: large(i, uint64(61+i))})
			}
			s.sends(events...)
			r := inf.reflectors[0]
			r.journal.mu.Lock()
			weight, behind := r.journal.weight, r.journal.behind
			r.journal.mu.Unlock()
			if inf.Len() != 601 || weight > journalBudget || !behind {
				t.Errorf("%d objects; %d bytes wait to be written, behind: %v", inf.Len(), weight, behind)
			}
			<-time.After(time.Minute)
			synctest.Wait()
			if st := inf.Status()[0].Snapshot; st.Version.String() != "660" || st.Failure != nil {
				t.Errorf("the file has not caught up: %+v", st)
			}
		})
		s = newPlaybook("660", nil)
		s.list = func(ListOptions) (ListStream, error) { return nil, errors.New("unreachable") }
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			if inf.Len() != 601 {
				t.Errorf("%d objects are on disk", inf.Len())
			}
		})
	})
}

// TestDiskFails: a disk that cannot be written to shows in the status, costs nothing else,
// and is tried again.
func TestDiskFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, h *heard) {
			folder := filepath.Dir(inf.Status()[0].Snapshot.Path)
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			s.version, s.items["a"] = "62", "u1@62"
			s.mu.Unlock()
			s.sends(modified("a", "u1@61"))
			<-time.After(20 * time.Second)
			s.sends(modified("a", "u1@62"))
			<-time.After(20 * time.Second)
			if st := inf.Status()[0].Snapshot; !errors.Is(st.Failure, os.ErrNotExist) {
				t.Errorf("without a folder: %+v", st)
			}
			if h.sorted() != "added a@10, updated a@61, updated a@62" {
				t.Errorf("heard %q", h.sorted())
			}
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Minute)
			synctest.Wait()
			if st := inf.Status()[0].Snapshot; st.Failure != nil || st.Version.String() != "62" {
				t.Errorf("with a folder again: %+v", st)
			}
		})
		s = newPlaybook("62", map[string]string{"a": "u1@62"})
		run(t, s, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			if len(s.lists()) != 0 || !inf.HasSynced() {
				t.Errorf("%d lists, %+v", len(s.lists()), inf.Status()[0])
			}
		})
	})
}

// TestRunAgain: an informer that is run again continues where it was, and so does its file.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		s.list = s.witness
		s.events = make(chan Event, 100)
		inf := NewInformer(Options{}, onDisk(dir, ReflectorOptions{}), map[string]Source{"": s})
		for i := range 3 {
			stop := playing(t, inf)
			synctest.Wait()
			state := fmt.Sprintf("u1@%d", 61+i)
			s.mu.Lock()
			s.version, s.items["a"] = fmt.Sprint(61+i), state
			s.mu.Unlock()
			s.sends(modified("a", state))
			stop()
			if n := len(s.lists()); n != 1 {
				t.Errorf("%d lists", n)
			}
		}
		next := newPlaybook("63", map[string]string{"a": "u1@63"})
		run(t, next, onDisk(dir, ReflectorOptions{}), func(inf *Informer, _ *heard) {
			if len(next.lists()) != 0 || !inf.HasSynced() {
				t.Errorf("%d lists, %+v", len(next.lists()), inf.Status()[0])
			}
			holds(t, inf.Collection, map[string]string{"a": "u1@63"})
		})
	})
}
