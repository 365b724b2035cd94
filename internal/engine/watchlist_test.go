package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// lines takes what is logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) log(message string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintln(append([]any{message}, args...)...))
}

func (l *lines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// playing runs an informer in a bubble until stop is called.
func playing(t *testing.T, inf *Informer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	return func() {
		cancel()
		<-ended
	}
}

// storeEquals fails unless the store has what the model has.
func storeEquals(t *testing.T, c *Collection, m *model) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := c.Len(); n != len(m.objects) {
		t.Errorf("the store has %d objects, the server %d", n, len(m.objects))
	}
	for _, want := range m.objects {
		if r := c.Get(want.key()); r == nil || r.Version().String() != fmt.Sprint(want.version) {
			t.Errorf("the store has %v of %s, want version %d", r, want.key(), want.version)
		}
	}
}

// TestWatchListWithoutItsEnd: where the closing bookmark never comes, whatever else
// does, LIST is used after all within 15 s, and from then on.
func TestWatchListWithoutItsEnd(t *testing.T) {
	for name, meanwhile := range map[string]func(m *model, second int){
		"silence":   func(*model, int) {},
		"changes":   func(m *model, second int) { m.put("a", fmt.Sprint("color-", second)) },
		"creations": func(m *model, second int) { m.put(fmt.Sprint("new-", second), "red") },
		"bookmarks": func(m *model, second int) { m.bookmark() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				m.noInitialEnd = true
				m.put("a", "red")
				m.put("b", "red")
				var log lines
				var server Server
				inf := NewInformer(Options{Log: log.log}, ReflectorOptions{WatchList: true, Server: &server}, map[string]Source{"": m})
				stop := playing(t, inf)
				began := time.Now()
				for second := 0; !inf.HasSynced() && second < 60; second++ {
					meanwhile(m, second)
					time.Sleep(time.Second)
				}
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("synced after %v, want at most 15 s", took)
				}
				synctest.Wait()
				storeEquals(t, inf.Collection, m)
				stop()
				if n := log.count("falling back to LIST"); n != 1 {
					t.Errorf("logged %d times, want once: %q", n, log.all)
				}

				// Another informer of the same server does not try again.
				second := NewInformer(Options{}, ReflectorOptions{WatchList: true, Server: &server}, map[string]Source{"": m})
				stop = playing(t, second)
				synctest.Wait()
				if !second.HasSynced() || second.Status()[0].Lists != 1 {
					t.Errorf("the second one says %+v, want synced by a list at once", second.Status()[0])
				}
				stop()
			})
		})
	}
}

// TestWatchListThatLags: what a server sends between its initial state and the
// closing bookmark belongs to the list.
func TestWatchListThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		for _, name := range []string{"stays", "changes", "goes", "comes-back", "last"} {
			m.put(name, "red")
		}
		early := map[string]thing{}
		for name, o := range m.objects {
			early[name] = o
		}
		m.put("changes", "green")
		m.remove("goes")
		m.remove("comes-back")
		m.put("comes-back", "blue")
		m.put("is-new", "red")
		m.put("is-new", "green")
		m.remove("last")
		source := &lagging{model: m, early: early}
		inf := NewInformer(Options{}, ReflectorOptions{WatchList: true}, map[string]Source{"": source})
		sub := inf.Subscribe(func(_ context.Context, d Delta) {
			if d.Kind != Added || !d.Initial {
				t.Errorf("told of %v %s, want the initial list and no more", d.Kind, d.Key())
			}
		}, SubscribeOptions{})
		defer playing(t, inf)()
		<-sub.Synced()
		synctest.Wait()
		storeEquals(t, inf.Collection, m)
		if s := inf.Status()[0]; s.Lists != 0 || s.Watches != 1 {
			t.Errorf("%d lists and %d watches, want one watch", s.Lists, s.Watches)
		}
	})
}

// lagging sends an early state, then what happened since, then the bookmark.
type lagging struct {
	*model
	early map[string]thing
}

func (l *lagging) Watch(ctx context.Context, o WatchOptions) (WatchStream, error) {
	w, err := l.model.Watch(ctx, WatchOptions{ResourceVersion: fmt.Sprint(l.model.version)})
	if err != nil || !o.InitialEvents {
		return w, err
	}
	mw := w.(*modelWatch)
	for _, t := range l.early {
		mw.initial = append(mw.initial, Event{Type: wire.Added, Item: Item{Format: wire.JSON, Bytes: t.bytes()}})
	}
	from := uint64(0)
	for _, t := range l.early {
		from = max(from, t.version)
	}
	for _, h := range l.model.history {
		if h.thing.version > from {
			mw.initial = append(mw.initial, Event{Type: h.kind, Item: Item{Format: wire.JSON, Bytes: h.thing.bytes()}})
		}
	}
	mw.initial = append(mw.initial, Event{Type: wire.Bookmark, Item: bookmarkItem(l.model.version), InitialEnd: true})
	return w, nil
}

// TestInitialEventsThatRepeat: an object that is added twice and then deleted is gone.
func TestInitialEventsThatRepeat(t *testing.T) {
	s := newPlaybook("60", map[string]string{})
	end := bookmarkAt(70)
	end.InitialEnd = true
	s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
		return &passage{ctx: ctx, events: []Event{
			addedAs("a", "u1@61"), addedAs("b", "u2@62"), addedAs("a", "u1@63"), addedAs("b", "u2@64"),
			deletedAs("a", "u1@65"), modified("b", "u2@66"), addedAs("c", "u3@67"), end,
		}}, nil
	}
	scripted(t, s, ReflectorOptions{WatchList: true}, func(inf *Informer) {
		holds(t, inf.Collection, map[string]string{"b": "u2@66", "c": "u3@67"})
	})
}
