package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// waiting is a wait that goes on in a bubble.
type waiting struct {
	t    *testing.T
	err  error
	took time.Duration
	done chan struct{}
}

// waits begins to wait.
func waits(t *testing.T, wait func(context.Context) error) *waiting {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	w := &waiting{t: t, done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer cancel()
		defer close(w.done)
		w.err = wait(ctx)
		w.took = time.Since(began)
	}()
	synctest.Wait()
	return w
}

// ended reports whether the wait has ended.
func (w *waiting) ended() bool {
	synctest.Wait()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// wantEnd fails unless the wait has ended just so.
func (w *waiting) wantEnd(want error) {
	w.t.Helper()
	if !w.ended() {
		w.t.Fatal("the wait goes on")
	}
	if !errors.Is(w.err, want) || (want == nil) != (w.err == nil) {
		w.t.Fatalf("the wait ended with %v, want %v", w.err, want)
	}
}

// wantOpen fails if the wait has ended.
func (w *waiting) wantOpen() {
	w.t.Helper()
	if w.ended() {
		w.t.Fatalf("the wait has ended already: %v", w.err)
	}
}

func (s *playbook) set(version string, items map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.items = version, items
}

// requests returns how many lists and watches were asked for.
func (s *playbook) requests() (lists, watches int) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked), len(s.watched)
}

// forVersion waits for a version of the whole store.
func forVersion(inf *Informer, v uint64) func(context.Context) error {
	return func(ctx context.Context) error { return inf.WaitFor(ctx, version(v)) }
}

// TestWaitFor: events, bookmarks and lists answer who waits for a version.
func TestWaitFor(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		waits(t, forVersion(inf, 59)).wantEnd(nil)
		waits(t, forVersion(inf, 60)).wantEnd(nil)
		event, bookmark, list := waits(t, forVersion(inf, 61)), waits(t, forVersion(inf, 65)), waits(t, forVersion(inf, 70))
		event.wantOpen()
		s.sends(modified("a", "u1@61"))
		event.wantEnd(nil)
		bookmark.wantOpen()
		s.sends(bookmarkAt(66))
		bookmark.wantEnd(nil)
		list.wantOpen()
		s.set("71", map[string]string{"a": "u1@61"})
		s.sends(forgets)
		list.wantEnd(nil)
	})
}

// TestWaitEndsWithItsContext, and says what is the matter.
func TestWaitEndsWithItsContext(t *testing.T) {
	s := newPlaybook("60", nil)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		w := waits(t, func(context.Context) error { return inf.WaitFor(ctx, version(61)) })
		cancel(why)
		w.wantEnd(why)
		var failed *WaitError
		if !errors.As(w.err, &failed) || failed.Version != version(61) || failed.Status.State != Watching {
			t.Errorf("got %v", w.err)
		}
		if p := inf.reflectors[0].part; len(p.waiters) != 0 || len(p.byKey) != 0 {
			t.Errorf("left behind: %d waiters, %d keys", len(p.waiters), len(p.byKey))
		}
	})
}

// TestSilenceHasTheServerAsked: where nothing comes, one question answers, by a list of
// a small set. The watch of a large one goes on, for its bookmark.
func TestSilenceHasTheServerAsked(t *testing.T) {
	for _, objects := range []int{3, inPlace + 1} {
		t.Run(fmt.Sprint(objects, " objects"), func(t *testing.T) {
			items := map[string]string{}
			for i := range objects {
				items[fmt.Sprint("o", i)] = fmt.Sprintf("u%d@%d", i, i+1)
			}
			s := newPlaybook("1000", items)
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				lists, watches := s.requests()
				s.set("1010", items) // what is not selected has changed
				var all []*waiting
				for v := range uint64(10) {
					all = append(all, waits(t, forVersion(inf, 1001+v)))
				}
				<-time.After(askAfter - time.Millisecond)
				all[0].wantOpen()
				if n, _ := s.requests(); n != lists {
					t.Fatal("the server was asked at once")
				}
				<-time.After(2 * time.Millisecond)
				synctest.Wait()
				if objects > inPlace {
					all[0].wantOpen()
					s.sends(bookmarkAt(1010))
				}
				for _, w := range all {
					w.wantEnd(nil)
				}
				<-time.After(time.Minute)
				nowLists, nowWatches := s.requests()
				if n := nowLists - lists; n != 1 {
					t.Errorf("%d questions, want one", n)
				}
				if n := nowWatches - watches; n > 1 || n == 1 && objects > inPlace {
					t.Errorf("%d more watches", n)
				}
			})
		})
	}
}

// TestQuestionsAreRare: a program that writes what is not selected, and waits each time,
// has the server asked no more than every two seconds, and a stream that moves, never.
func TestQuestionsAreRare(t *testing.T) {
	s := newPlaybook("1000", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		before, _ := s.requests()
		now := uint64(1000)
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			now++
			s.set(fmt.Sprint(now), map[string]string{"a": "u1@10"})
			w := waits(t, forVersion(inf, now))
			<-w.done
			w.wantEnd(nil)
		}
		mid, _ := s.requests()
		if n := mid - before; n > 11 {
			t.Errorf("%d questions in 20 s", n)
		}
		w := waits(t, forVersion(inf, now+1000))
		for v := range uint64(999) { // a server that lags
			s.sends(modified("a", fmt.Sprintf("u1@%d", now+1+v)))
			<-time.After(100 * time.Millisecond)
		}
		w.wantOpen()
		s.sends(modified("a", fmt.Sprintf("u1@%d", now+1000)))
		w.wantEnd(nil)
		after, _ := s.requests()
		if n := after - mid; n != 0 {
			t.Errorf("%d questions while events came", n)
		}
	})
}

// TestVersionThatNeverComes: a consistent answer below the version ends the wait: of a
// version that no server gave, and of one that was lost when a backup was restored.
func TestVersionThatNeverComes(t *testing.T) {
	for _, objects := range []int{3, inPlace + 1} {
		items := map[string]string{}
		for i := range objects {
			items[fmt.Sprint("o", i)] = fmt.Sprintf("u%d@%d", i, i+1)
		}
		s := newPlaybook("1000", items)
		scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
			never := waits(t, forVersion(inf, 5000))
			<-time.After(askAfter + time.Millisecond)
			never.wantEnd(ErrNoVersion)
			if st := inf.Status()[0]; st.Cause != nil || st.State != Watching {
				t.Errorf("the informer suffers: %s, %v", st.State, st.Cause)
			}
			<-time.After(time.Minute)
			lost := waits(t, forVersion(inf, 1001))
			later := waits(t, func(ctx context.Context) error {
				return inf.WaitForObject(ctx, Object{Namespace: "ns", Name: "o0", UID: "u0"}, version(1002))
			})
			s.set("900", items)
			s.sends(forgets) // has a list read that is older than the store
			lost.wantEnd(ErrNoVersion)
			later.wantEnd(ErrNoVersion)
			if st := inf.Status()[0]; st.Epochs != 1 {
				t.Errorf("%d epochs", st.Epochs)
			}
			waits(t, forVersion(inf, 900)).wantEnd(nil)
		})
	}
}

// TestUnorderedVersions: where versions prove nothing, waiting for one is an error at
// once, and waiting for an object looks at the object.
func TestUnorderedVersions(t *testing.T) {
	s := newPlaybook("7", map[string]string{"a": "u1@5000"}) // versions of another counter
	synctest.Test(t, func(t *testing.T) {
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
		s.events = make(chan Event, 10)
		early := waits(t, forVersion(inf, 5))
		defer playing(t, inf)()
		early.wantEnd(ErrUnordered)
		waits(t, forVersion(inf, 5)).wantEnd(ErrUnordered)
		waits(t, func(ctx context.Context) error { return inf.WaitFor(ctx, ParseVersion("abc")) }).wantEnd(ErrUnordered)
		a := Object{Namespace: "ns", Name: "a", UID: "u1"}
		waits(t, func(ctx context.Context) error { return inf.WaitForObject(ctx, a, version(5000)) }).wantEnd(nil)
		next := waits(t, func(ctx context.Context) error { return inf.WaitForObject(ctx, a, version(5001)) })
		<-time.After(time.Minute)
		next.wantOpen()
		s.sends(modified("a", "u1@5001"))
		next.wantEnd(nil)
		gone := waits(t, func(ctx context.Context) error {
			_, err := inf.WaitForDeleted(ctx, a, version(5001))
			return err
		})
		s.sends(deletedAs("a", "u1@5002"))
		gone.wantEnd(nil)
	})
}

// TestWaitForDeleted: the end of an object is waited for, not its absence from a store
// that has not seen it yet.
func TestWaitForDeleted(t *testing.T) {
	deleted := func(inf *Informer, name, uid string, v Version, reached *Version) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			*reached, err = inf.WaitForDeleted(ctx, Object{Namespace: "ns", Name: name, UID: uid}, v)
			return err
		}
	}
	var reached Version
	s := newPlaybook("60", map[string]string{"a": "u1@10", "b": "u2@20"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		held := waits(t, deleted(inf, "a", "u1", Version{}, &reached))
		held.wantOpen()
		s.sends(deletedAs("a", "u1@61"))
		held.wantEnd(nil)
		if lists, _ := s.requests(); reached != version(61) || lists != 1 {
			t.Errorf("reached %s after %d lists", reached, lists)
		}
		// It was created and deleted, and the store knows nothing of it yet.
		unseen := waits(t, deleted(inf, "c", "u3", version(62), &reached))
		unseen.wantOpen()
		s.sends(addedAs("c", "u3@62"))
		unseen.wantOpen()
		s.sends(deletedAs("c", "u3@63"))
		unseen.wantEnd(nil)
		// The same, where only its identity is known: the server is asked for its version.
		s.set("65", map[string]string{"b": "u2@20"})
		unknown := waits(t, deleted(inf, "d", "u4", Version{}, &reached))
		unknown.wantOpen()
		s.sends(addedAs("d", "u4@64"))
		unknown.wantOpen()
		s.sends(deletedAs("d", "u4@65"))
		unknown.wantEnd(nil)
		// Another object has the name already.
		waits(t, deleted(inf, "b", "u1", version(30), &reached)).wantEnd(nil)
		// A finalizer keeps it: the state after the request is what can be had.
		s.set("70", map[string]string{"b": "u2@70"})
		kept := waits(t, deleted(inf, "b", "u2", version(20), &reached))
		s.sends(modified("b", "u2@70"))
		kept.wantOpen()
		<-time.After(askAfter)
		kept.wantEnd(nil)
	})
}

// TestWaitForNamespaces: a version is waited for where it can be.
func TestWaitForNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newPlaybook("60", nil), newPlaybook("50", nil)
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"one": one, "two": two})
		defer playing(t, inf)()
		synctest.Wait()
		object := func(ns string) func(context.Context) error {
			return func(ctx context.Context) error {
				return inf.WaitForObject(ctx, Object{Namespace: ns, Name: "a", UID: "u1"}, version(60))
			}
		}
		waits(t, object("one")).wantEnd(nil)
		waits(t, object("nowhere")).wantEnd(nil)
		waits(t, func(ctx context.Context) error { return inf.WaitFor(ctx, version(60), "one") }).wantEnd(nil)
		in, all := waits(t, object("two")), waits(t, forVersion(inf, 60))
		in.wantOpen()
		all.wantOpen()
		two.sends(bookmarkAt(60))
		in.wantEnd(nil)
		all.wantEnd(nil)
		two.set("80", nil)
		one.set("80", nil)
		now := waits(t, func(ctx context.Context) error {
			_, err := inf.CatchUp(ctx)
			return err
		})
		now.wantOpen()
		one.sends(bookmarkAt(80))
		now.wantOpen()
		two.sends(bookmarkAt(80))
		now.wantEnd(nil)
	})
}

// TestWaitWhilePolling: a list that is due in a while is read sooner.
func TestWaitWhilePolling(t *testing.T) {
	s := newPlaybook("60", nil)
	s.watch = func(context.Context, WatchOptions) (WatchStream, error) { return nil, status(405, "MethodNotAllowed") }
	scripted(t, s, ReflectorOptions{Backoff: Backoff{First: 30 * time.Second, Most: 30 * time.Second}}, func(inf *Informer) {
		s.set("61", nil)
		w := waits(t, forVersion(inf, 61))
		<-w.done
		if w.wantEnd(nil); w.took > time.Second {
			t.Errorf("it took %v", w.took)
		}
	})
}

// TestWaitForRefused: what Run ended for ends the waits.
func TestWaitForRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("60", nil)
		s.list = func(ListOptions) (ListStream, error) { return nil, status(403, "Forbidden") }
		inf := NewInformer(Options{}, ReflectorOptions{Policy: FailFast}, map[string]Source{"": s})
		w := waits(t, forVersion(inf, 61))
		if err := inf.Run(context.Background()); !errors.Is(err, ErrRefused) {
			t.Fatalf("Run returned %v", err)
		}
		w.wantEnd(ErrRefused)
	})
}
