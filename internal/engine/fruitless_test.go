package engine

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// unwatchable is a server whose watches are of no use.
type unwatchable struct {
	*model
	watch func() (WatchStream, error)
}

func (u *unwatchable) Watch(context.Context, WatchOptions) (WatchStream, error) { return u.watch() }

type ending struct{ err error }

func (e ending) Next() (Event, error) { return Event{}, e.err }
func (ending) Buffered() bool         { return false }
func (ending) Close() error           { return nil }

// TestFruitlessWatches: behind a proxy that cannot stream, or on a server that
// forgets at once, the store is still kept up to date, by lists that become rarer.
func TestFruitlessWatches(t *testing.T) {
	gone := status(410, "Expired")
	for name, watch := range map[string]func() (WatchStream, error){
		"ends at once":         func() (WatchStream, error) { return ending{io.EOF}, nil },
		"is forgotten at once": func() (WatchStream, error) { return ending{gone}, nil },
		"sends garbage":        func() (WatchStream, error) { return ending{fmt.Errorf("%w", errNoName)}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				m.put("a", "red")
				var log lines
				inf := NewInformer(Options{Log: log.log}, ReflectorOptions{}, map[string]Source{"": &unwatchable{m, watch}})
				defer playing(t, inf)()
				synctest.Wait()
				time.Sleep(10 * time.Minute)
				before := inf.Status()[0].Lists
				m.put("a", "green")
				m.put("b", "green")
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				storeEquals(t, inf.Collection, m)
				time.Sleep(time.Hour)
				if n := inf.Status()[0].Lists - before; n > 150 {
					t.Errorf("%d lists in an hour, want them rare", n)
				}
				if n := inf.Status()[0].Expired; (n > 0) != (name == "is forgotten at once") {
					t.Errorf("the server is said to have forgotten the version %d times", n)
				}
				if inf.Status()[0].Cause == nil {
					t.Error("Status has no cause")
				}
				if n := len(log.all); n != 1 {
					t.Errorf("%d lines are logged, want one: %q", n, log.all)
				}
			})
		})
	}
}

// spoilt is a watch that sends garbage after a while.
type spoilt struct{ scriptWatch }

func (w *spoilt) Next() (Event, error) {
	select {
	case <-time.After(time.Second):
		return modified("", "u2@80"), nil
	case <-w.ctx.Done():
		return Event{}, w.ctx.Err()
	}
}

// TestGarbageInEachWatch: a server that sends an event which cannot be read in each
// watch, though not at once, is listed ever more rarely.
func TestGarbageInEachWatch(t *testing.T) {
	s := newPlaybook("70", map[string]string{"a": "u1@10"})
	s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
		return &spoilt{scriptWatch{s, ctx}}, nil
	}
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		time.Sleep(time.Hour)
		if n := len(s.lists()); n > 150 {
			t.Errorf("%d lists in an hour", n)
		}
		for inf.Status()[0].State == Watching { // for the first second of each watch, all is well
			time.Sleep(time.Second)
		}
		if st := inf.Status()[0]; st.Cause == nil {
			t.Errorf("Status has no cause: %+v", st)
		}
	})
}
