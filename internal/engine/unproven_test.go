package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// TestQuietWhereNothingIsProbed: where versions are not compared, a watch that follows
// a broken one may be as silent as any other.
func TestQuietWhereNothingIsProbed(t *testing.T) {
	for name, source := range map[string]func(*playbook) Source{
		"opaque versions": func(s *playbook) Source { return s },
		"objects":         func(s *playbook) Source { return wholeBook{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPlaybook("opaque", nil)
				inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": source(s)})
				defer playing(t, inf)()
				time.Sleep(2 * time.Second)
				s.sends(ends)
				time.Sleep(30 * time.Minute)
				if n := inf.Status()[0].Watches; n > 20 {
					t.Errorf("%d watches in half an hour", n)
				}
			})
		})
	}
}

// wholeBook is a playbook of objects.
type wholeBook struct{ *playbook }

func (wholeBook) ListsWhole() {}

// shortWatch is a watch that a proxy ends after a while.
type shortWatch struct {
	scriptWatch
	end *time.Timer
}

func (w *shortWatch) Next() (Event, error) {
	select {
	case <-w.end.C:
		return Event{}, io.EOF
	case ev := <-w.events:
		if ev.Type == forgets.Type {
			return ev, status(410, "Expired")
		}
		return ev, nil
	case <-w.ctx.Done():
		return Event{}, w.ctx.Err()
	}
}

// lastFor has all watches from now on end after a while.
func (s *playbook) lastFor(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
		return &shortWatch{scriptWatch{s, ctx}, time.NewTimer(d)}, nil
	}
}

// TestIncompleteListsAreReadAgain: also where no watch lasts until that is due. Until
// then objects that are gone may be in the store.
func TestIncompleteListsAreReadAgain(t *testing.T) {
	s := newPlaybook("70", map[string]string{"a": "u1@10", "b": "u2@10"})
	var unreadable atomic.Bool
	s.list = func(ListOptions) (ListStream, error) {
		l := answer(s.version, s.items).(*scriptList)
		if unreadable.Load() {
			l.items = append(l.items, Item{Format: wire.JSON, Bytes: []byte(`{"metadata":{"uid":"x"}}`)})
		}
		return l, nil
	}
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		unreadable.Store(true)
		s.sets("80", map[string]string{"a": "u1@10"})
		s.lastFor(7 * time.Second)
		s.sends(forgets)
		unreadable.Store(false)
		time.Sleep(time.Minute)
		holds(t, inf.Collection, s.items)
		if n := len(s.lists()); n != 3 {
			t.Errorf("%d lists, want three", n)
		}
	})
}

// lastWord is a watch whose last event comes when the informer is told to stop.
type lastWord struct {
	scriptWatch
	stop func()
	word []Event
}

func (w *lastWord) Next() (Event, error) {
	if len(w.word) == 0 {
		return w.scriptWatch.Next()
	}
	ev := w.word[0]
	w.word = nil
	w.stop()
	return ev, nil
}

// TestDoubtOutlivesRun: an event that is in doubt when Run ends is not sent again. The
// next Run lists.
func TestDoubtOutlivesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
		ctx, cancel := context.WithCancel(t.Context())
		s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
			s.items = map[string]string{"a": "u9@5"}
			return &lastWord{scriptWatch{s, ctx}, cancel, []Event{modified("a", "u9@5")}}, nil
		}
		if err := inf.Run(ctx); err != nil {
			t.Fatal(err)
		}
		s.watch = nil
		defer playing(t, inf)()
		synctest.Wait()
		holds(t, inf.Collection, s.items)
	})
}

// TestCauseWhileAListIsDue: until the list that settles a doubt the status names it,
// whatever else fails and is overcome meanwhile. It is logged once.
func TestCauseWhileAListIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		var log lines
		inf := NewInformer(Options{Log: log.log}, ReflectorOptions{}, map[string]Source{"": s})
		defer playing(t, inf)()
		synctest.Wait()
		for i := range 10 { // the last of these lists is due in half a minute
			s.sends(modified("a", fmt.Sprintf("u%d@5", 100+i)))
			time.Sleep(46 * time.Second)
		}
		s.sends(modified("a", "u99@5"))
		time.Sleep(time.Second)
		refused := false
		s.mu.Lock()
		s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
			if !refused {
				refused = true
				return nil, errDown
			}
			return &scriptWatch{s, ctx}, nil
		}
		s.mu.Unlock()
		s.sends(ends)
		time.Sleep(3 * time.Second)
		for _, when := range []string{"after a broken watch", "after an event"} {
			if st := inf.Status()[0]; st.State != Watching || !errors.Is(st.Cause, errOutOfOrder) || time.Until(st.NextTry) <= 0 {
				t.Errorf("%s: %v, %v, next try in %v", when, st.State, st.Cause, time.Until(st.NextTry))
			}
			s.sends(modified("a", "u1@61"))
		}
		time.Sleep(time.Minute)
		if st := inf.Status()[0]; st.Cause != nil || log.count("a list will show") != 1 {
			t.Errorf("%v; logged %q", st.Cause, log.all)
		}
	})
}

// TestErrorsLongAgo: how many watches ended with an error an hour ago does not make the
// next failure last longer.
func TestErrorsLongAgo(t *testing.T) {
	s := newPlaybook("70", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		version := 70
		changes := func() {
			version++
			state := fmt.Sprintf("u1@%d", version)
			s.sets(fmt.Sprint(version), map[string]string{"a": state})
			s.sends(modified("a", state))
		}
		s.lastFor(7 * time.Second)
		for range 20 {
			changes()
			s.sends(forgets)
			time.Sleep(5 * time.Second)
		}
		for range 600 {
			changes()
			time.Sleep(7 * time.Second)
		}
		s.mu.Lock()
		s.watch = func(context.Context, WatchOptions) (WatchStream, error) { return nil, errDown }
		s.mu.Unlock()
		for inf.Status()[0].Cause == nil {
			time.Sleep(time.Millisecond)
		}
		if st := inf.Status()[0]; time.Until(st.NextTry) > 2*time.Second {
			t.Errorf("tried again in %v, after %v", time.Until(st.NextTry), st.Cause)
		}
	})
}
