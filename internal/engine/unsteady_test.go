package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// passage is a watch that sends some events and then ends with an error; without one,
// it stays open and sends nothing.
type passage struct {
	ctx    context.Context
	events []Event
	err    error
	cut    chan struct{} // closed when the connection breaks
}

func (w *passage) Next() (Event, error) {
	if len(w.events) > 0 {
		ev := w.events[0]
		w.events = w.events[1:]
		return ev, nil
	}
	if w.err != nil {
		return Event{}, w.err
	}
	select {
	case <-w.cut:
		return Event{}, io.ErrUnexpectedEOF
	case <-w.ctx.Done():
		return Event{}, w.ctx.Err()
	}
}
func (w *passage) Buffered() bool { return len(w.events) > 0 }
func (w *passage) Close() error   { return nil }

// TestWatchesThatBeginWithThePresentState: some servers do not heed the version and
// begin each watch with all there is. What was deleted between two watches is not in
// it, and is found out, in the time that a watch takes.
func TestWatchesThatBeginWithThePresentState(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10", "b": "u2@50"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		version := 60
		for watch := range 4 {
			s.sends(addedAs("a", "u1@10"))
			if watch == 0 {
				s.sends(addedAs("b", "u2@50"))
			}
			for range 8 {
				version++
				state := fmt.Sprintf("u3@%d", version)
				s.sets(fmt.Sprint(version), map[string]string{"a": "u1@10", "busy": state})
				s.sends(modified("busy", state))
				time.Sleep(time.Minute)
			}
			s.sends(ends)
		}
		holds(t, inf.Collection, s.items)
		if n := len(s.lists()); n > 5 {
			t.Errorf("%d lists for 4 watches", n)
		}
	})
}

// TestVersionsThatStay: a server that changes objects under the version that they had
// ends up in the store, in the time that a watch takes.
func TestVersionsThatStay(t *testing.T) {
	for _, state := range []string{"u1@10", "u1@9"} {
		s := newPlaybook("60", map[string]string{"a": "u1@10=red"})
		scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
			began := time.Now()
			s.sets("60", map[string]string{"a": state + "=blue"})
			for range 10 {
				s.sends(modified("a", state+"=blue"))
				time.Sleep(time.Second)
				if st := inf.Status()[0]; inf.Get("ns/a").Labels().Get("color") == "red" && time.Since(st.LastContact) < 2*time.Second && time.Since(began) > time.Minute {
					t.Errorf("the state is wrong and said to be %v old", time.Since(st.LastContact))
				}
				time.Sleep(time.Minute)
			}
			s.sends(ends)
			time.Sleep(time.Minute)
			holds(t, inf.Collection, s.items)
		})
	}
}

// TestRequestsPerHour of servers whose watches are of some use and yet do not last.
// client-go lists at its backoff, about every 30 to 60 s.
func TestRequestsPerHour(t *testing.T) {
	expired, forbidden := status(410, "Expired"), status(http.StatusForbidden, metav1.StatusReasonForbidden)
	for name, watch := range map[string]func() *passage{
		"an event, then forgotten":    func() *passage { return &passage{events: []Event{bookmarkAt(60)}, err: expired} },
		"refused in the stream":       func() *passage { return &passage{err: forbidden} },
		"an event, then refused":      func() *passage { return &passage{events: []Event{bookmarkAt(60)}, err: forbidden} },
		"an event, then an error":     func() *passage { return &passage{events: []Event{bookmarkAt(60)}, err: errDown} },
		"the present state, then end": func() *passage { return &passage{events: []Event{addedAs("a", "u1@10")}, err: io.EOF} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPlaybook("60", map[string]string{"a": "u1@10"})
				ctx, cancel := context.WithCancel(t.Context())
				s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
					if len(s.watched) > 20000 {
						cancel()
					}
					w := watch()
					w.ctx = ctx
					return w, nil
				}
				inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
				ended := make(chan error)
				go func() { ended <- inf.Run(ctx) }()
				began := time.Now()
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
				cancel()
				<-ended
				lists := len(s.lists())
				t.Logf("in %v: %d watches, %d lists, %d probes", time.Since(began), len(s.watched), lists, len(s.asked)-lists)
				if lists > 200 || len(s.watched) > 400 || len(s.asked)-lists > 400 {
					t.Error("want them rare")
				}
			})
		})
	}
}

// TestQuietWatchesThatAreCut: a watch that lasted for long is not a failure to wait
// for ever longer after, though nothing happened in it.
func TestQuietWatchesThatAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("60", map[string]string{"a": "u1@10"})
		s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, 50*time.Second, io.ErrUnexpectedEOF)
			context.AfterFunc(ctx, cancel)
			return cut50{ctx}, nil
		}
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
		defer playing(t, inf)()
		time.Sleep(4 * time.Minute)
		waiting := 0
		for range 3600 {
			time.Sleep(time.Second)
			if inf.Status()[0].State == Waiting {
				waiting++
			}
		}
		lists := len(s.lists())
		t.Logf("not watching for %d s of an hour; %d watches, %d lists, %d probes", waiting, len(s.watched), lists, len(s.asked)-lists)
		if waiting > 150 {
			t.Error("want it to watch")
		}
	})
}

type cut50 struct{ ctx context.Context }

func (w cut50) Next() (Event, error) {
	<-w.ctx.Done()
	return Event{}, context.Cause(w.ctx)
}
func (cut50) Buffered() bool { return false }
func (cut50) Close() error   { return nil }

// TestBookmarksThatAreAlwaysLower: a server whose bookmarks count something else is
// watched, not waited for.
func TestBookmarksThatAreAlwaysLower(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		waiting := 0
		for i := range 3600 {
			if i%60 == 0 {
				s.sends(bookmarkAt(7))
			}
			time.Sleep(time.Second)
			if inf.Status()[0].State == Waiting {
				waiting++
			}
		}
		lists := len(s.lists())
		t.Logf("not watching for %d s of an hour; %d watches, %d lists, %d probes", waiting, len(s.watched), lists, len(s.asked)-lists)
		if waiting > 150 {
			t.Error("want it to watch")
		}
	})
}

// TestProbesThatFail: a server that cannot answer a probe, and lists and watches well,
// is listed and watched.
func TestProbesThatFail(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10"})
	s.list = func(o ListOptions) (ListStream, error) {
		if o.Probe {
			return nil, status(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		}
		return answer(s.version, s.items), nil
	}
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		time.Sleep(time.Minute)
		s.sends(ends)
		s.sets("70", map[string]string{"a": "u1@70"})
		time.Sleep(5 * time.Minute)
		holds(t, inf.Collection, s.items)
		if st := inf.Status()[0]; st.State != Watching {
			t.Errorf("Status says %+v, want watching", st)
		}
	})
}

// TestPagesThatExpire: where the pages of a list expire before all are read, the list
// is read in one.
func TestPagesThatExpire(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10", "b": "u2@20"})
	s.list = func(o ListOptions) (ListStream, error) {
		if o.Limit > 0 && !o.Probe {
			return &expiring{ListStream: answer(s.version, s.items)}, nil
		}
		return answer(s.version, s.items), nil
	}
	scripted(t, s, ReflectorOptions{PageSize: 1}, func(inf *Informer) {
		time.Sleep(time.Minute)
		holds(t, inf.Collection, s.items)
	})
}

type expiring struct {
	ListStream
	n int
}

func (l *expiring) Next() (Item, error) {
	if l.n++; l.n > 1 {
		return Item{}, status(410, "Expired")
	}
	return l.ListStream.Next()
}

// TestRunAgainWhileDeaf: the state of a second run is that run's.
func TestRunAgainWhileDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("10", map[string]string{"a": "u1@10"})
		s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) { return silent{ctx}, nil }
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
		stop := playing(t, inf)
		synctest.Wait()
		s.sets("20", map[string]string{"a": "u1@11"})
		time.Sleep(6 * time.Minute)
		if st := inf.Status()[0]; st.State != Polling {
			t.Fatalf("Status says %+v, want polling", st)
		}
		stop()
		time.Sleep(time.Hour)
		s.sets("30", map[string]string{"a": "u1@21"})
		defer playing(t, inf)()
		time.Sleep(time.Minute)
		if st := inf.Status()[0]; st.State == Stopped {
			t.Errorf("Status says %+v, while it runs", st)
		}
	})
}

// TestCutAfterAnOutage: the failures of an outage that is over do not count for a
// watch that is cut soon after.
func TestCutAfterAnOutage(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		broken, down := make(chan struct{}), true
		s.mu.Lock()
		s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) {
			if down {
				return nil, errDown
			}
			return &passage{ctx: ctx, events: []Event{bookmarkAt(61)}, cut: broken}, nil
		}
		s.mu.Unlock()
		s.sends(ends)
		time.Sleep(10 * time.Minute)
		s.mu.Lock()
		down, s.version = false, "61"
		s.mu.Unlock()
		for range 46 {
			if time.Sleep(time.Second); inf.Status()[0].State == Watching {
				break
			}
		}
		close(broken)
		synctest.Wait()
		if st := inf.Status()[0]; st.State != Waiting || time.Until(st.NextTry) > 2*time.Second {
			t.Errorf("it waits for %v, want about a second", time.Until(st.NextTry))
		}
	})
}
