package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusals of a watch.
var refusals = map[string]struct {
	err    error
	reason Reason
}{
	"403": {status(http.StatusForbidden, metav1.StatusReasonForbidden), Forbidden},
	"404": {status(http.StatusNotFound, metav1.StatusReasonNotFound), NoResource},
	"405": {status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed), Unsupported},
	"501": {status(http.StatusNotImplemented, metav1.StatusReasonUnknown), Unsupported},
}

// sets changes what a playbook's server has.
func (s *playbook) sets(version string, items map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.items = version, items
}

// TestRefusedWatchIsPolled: the list takes the place of a watch that is refused, at an
// interval, the state says so, and the watch is used once it is granted.
func TestRefusedWatchIsPolled(t *testing.T) {
	for name, c := range refusals {
		for _, watchList := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/watchList=%v", name, watchList), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newPlaybook("10", map[string]string{"a": "u1@10"})
					s.watch = func(context.Context, WatchOptions) (WatchStream, error) { return nil, c.err }
					var log lines
					inf := NewInformer(Options{Log: log.log}, ReflectorOptions{WatchList: watchList}, map[string]Source{"": s})
					defer playing(t, inf)()
					time.Sleep(10 * time.Minute)
					s.sets("20", map[string]string{"a": "u1@11", "b": "u2@20"})
					time.Sleep(46 * time.Second) // the interval, and half of it at random
					synctest.Wait()
					holds(t, inf.Collection, s.items)
					before := len(s.lists())
					time.Sleep(time.Hour)
					st := inf.Status()[0]
					n := len(s.lists()) - before
					t.Logf("%d lists an hour, state %s, %v old", n, st.State, time.Since(st.LastContact))
					if n < 70 || n > 121 {
						t.Errorf("%d lists an hour, want one every 30 to 45 s", n)
					}
					if st.State != Polling || !errors.Is(st.Cause, c.err) || st.Reason != c.reason || time.Since(st.LastContact) > 46*time.Second {
						t.Errorf("Status says %+v", st)
					}
					if log.count("cannot be watched") != 1 || log.count("falling back")+1 != len(log.all) {
						t.Errorf("logged: %q, want one line of it", log.all)
					}
					s.mu.Lock()
					s.watch = nil
					s.mu.Unlock()
					time.Sleep(46 * time.Second)
					s.sends(bookmarkAt(21))
					if st := inf.Status()[0]; st.State != Watching || st.Cause != nil {
						t.Errorf("Status says %+v, want watching", st)
					}
					if log.count("recovered") != 1 {
						t.Errorf("logged: %q, want that it recovered", log.all)
					}
				})
			})
		}
	}
}

// TestRefusedWatchAndPolicies: FailFast ends for rights and for what is not served,
// and not for what the server cannot do; Optional leaves it to the list.
func TestRefusedWatchAndPolicies(t *testing.T) {
	for name, c := range refusals {
		for _, policy := range []Policy{FailFast, Optional} {
			t.Run(fmt.Sprint(name, "/", policy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newPlaybook("10", map[string]string{"a": "u1@10"})
					s.watch = func(context.Context, WatchOptions) (WatchStream, error) { return nil, c.err }
					inf := NewInformer(Options{}, ReflectorOptions{Policy: policy}, map[string]Source{"": s})
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					err := inf.Run(ctx)
					if ends := policy == FailFast && c.reason.Refusal(); ends != errors.Is(err, ErrRefused) {
						t.Errorf("Run returns %v", err)
					}
					holds(t, inf.Collection, s.items)
				})
			})
		}
	}
}

// TestFailingWatchIsListed: a server that answers watches with errors and lists well
// does not leave the store as it is.
func TestFailingWatchIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("10", map[string]string{"a": "u1@10"})
		s.watch = func(context.Context, WatchOptions) (WatchStream, error) {
			return nil, status(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		}
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
		defer playing(t, inf)()
		time.Sleep(10 * time.Minute)
		s.sets("20", map[string]string{"a": "u1@11", "b": "u2@20"})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		holds(t, inf.Collection, s.items)
	})
}

// silent is a watch that brings nothing: a proxy keeps it.
type silent struct{ ctx context.Context }

func (w silent) Next() (Event, error) {
	<-w.ctx.Done()
	return Event{}, w.ctx.Err()
}
func (silent) Buffered() bool { return false }
func (silent) Close() error   { return nil }

// TestBufferedWatch: where watches bring nothing although the server changes, lists
// do, the state says so, and it is not called current because a socket is open.
func TestBufferedWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("10", map[string]string{"a": "u1@10"})
		s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) { return silent{ctx}, nil }
		var log lines
		inf := NewInformer(Options{Log: log.log}, ReflectorOptions{}, map[string]Source{"": s})
		defer playing(t, inf)()
		synctest.Wait()
		began := time.Now()
		s.sets("20", map[string]string{"a": "u1@11", "b": "u2@20"})
		time.Sleep(299 * time.Second)
		if st := inf.Status()[0]; time.Since(st.LastContact) < 299*time.Second {
			t.Errorf("the state is said to be %v old, though nothing was heard for 299 s", time.Since(st.LastContact))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		holds(t, inf.Collection, s.items)
		s.sets("30", map[string]string{"b": "u2@25"})
		time.Sleep(31 * time.Second)
		synctest.Wait()
		holds(t, inf.Collection, s.items)
		st := inf.Status()[0]
		if st.State != Polling || !errors.Is(st.Cause, errDeaf) || time.Since(st.LastContact) > 31*time.Second {
			t.Errorf("Status says %+v, want polling", st)
		}
		before := len(s.lists())
		time.Sleep(time.Hour)
		t.Logf("right %v after the change; then %d lists an hour", 301*time.Second, len(s.lists())-before)
		if n := len(s.lists()) - before; n > 121 {
			t.Errorf("%d lists an hour", n)
		}
		if log.count("bring nothing") != 1 || len(log.all) != 1 {
			t.Errorf("logged after %v: %q, want one line", time.Since(began), log.all)
		}
		s.mu.Lock()
		s.watch = nil
		s.mu.Unlock()
		time.Sleep(time.Minute)
		s.sends(addedAs("c", "u3@31"))
		holds(t, inf.Collection, map[string]string{"b": "u2@25", "c": "u3@31"})
		if st := inf.Status()[0]; st.State != Watching || st.Cause != nil || log.count("recovered") != 1 {
			t.Errorf("Status says %+v, want watching; logged: %q", st, log.all)
		}
	})
}

// TestQuietResource: a resource that does not change, on a server that sends no
// bookmarks, is silent by right. Probes prove the state while the server's version
// stays, and lists, now and then, where others move it.
func TestQuietResource(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint("version moves: ", moves), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPlaybook("10", map[string]string{"a": "u1@10"})
				s.watch = func(ctx context.Context, _ WatchOptions) (WatchStream, error) { return silent{ctx}, nil }
				var log lines
				inf := NewInformer(Options{Log: log.log}, ReflectorOptions{}, map[string]Source{"": s})
				defer playing(t, inf)()
				var oldest time.Duration
				for minute := range 240 {
					if moves {
						s.sets(fmt.Sprint(100+minute), s.items)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					st := inf.Status()[0]
					oldest = max(oldest, time.Since(st.LastContact))
					if st.State != Watching || st.Cause != nil {
						t.Fatalf("Status says %+v, want watching", st)
					}
				}
				lists, all := len(s.lists()), len(s.asked)
				t.Logf("4 hours: %d lists, %d probes, proven at most %v ago", lists, all-lists, oldest)
				if oldest > 301*time.Second || lists > 50 || !moves && lists > 1 || len(log.all) > 0 {
					t.Errorf("%d lists, proven %v ago, logged %q", lists, oldest, log.all)
				}
			})
		})
	}
}

// provably is a source that has proved that its resource is gone.
type provably struct{ *playbook }

func (provably) Gone(context.Context) error { return nil }

// TestNotFoundWithoutVersions: what is not found stays in the store, and leaves it once the
// source has proved that it is gone, also where lists have no version.
func TestNotFoundWithoutVersions(t *testing.T) {
	for _, version := range []string{"70", ""} {
		for _, policy := range []Policy{KeepTrying, Optional} {
			for _, proves := range []bool{false, true} {
				s := newPlaybook(version, map[string]string{"a": "u1@x"})
				var source Source = s
				state, left := Waiting, 1
				if proves {
					source, state, left = provably{s}, Absent, 0
				}
				scriptedAs(t, s, source, ReflectorOptions{Policy: policy, EmptyGone: true}, func(inf *Informer) {
					gone := status(404, metav1.StatusReasonNotFound)
					s.mu.Lock()
					s.list = func(ListOptions) (ListStream, error) { return nil, gone }
					s.watch = func(context.Context, WatchOptions) (WatchStream, error) { return nil, gone }
					s.mu.Unlock()
					s.sends(ends)
					time.Sleep(10 * time.Minute)
					if st := inf.Status()[0]; st.State != state || inf.Len() != left {
						t.Errorf("list version %q, %v, proves %v: %v, with %d objects", version, policy, proves, st.State, inf.Len())
					}
					s.mu.Lock()
					s.list, s.watch = nil, nil
					s.mu.Unlock()
					time.Sleep(time.Minute)
					holds(t, inf.Collection, s.items)
				})
			}
		}
	}
}
