package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type verified struct {
	t      *testing.T
	report VerifyReport
	errs   []error
	done   chan struct{}
}

// verifies begins to verify.
func verifies(t *testing.T, inf *Informer) *verified {
	t.Helper()
	v := &verified{t: t, done: make(chan struct{})}
	go func() {
		defer close(v.done)
		v.report, v.errs = inf.Verify(context.Background())
	}()
	synctest.Wait()
	return v
}

func (v *verified) wantOpen() {
	v.t.Helper()
	select {
	case <-v.done:
		v.t.Fatalf("it ended: %v, %v", v.report, v.errs)
	default:
	}
}

func (v *verified) want(want VerifyReport) {
	v.t.Helper()
	<-v.done
	if len(v.errs) != 0 {
		v.t.Errorf("Verify fails: %v", v.errs)
	}
	v.report.Keys = nil
	if want.Keys = nil; v.report.String() != want.String() {
		v.t.Errorf("Verify finds %v, want %v", v.report, want)
	}
}

var seeds = map[string]string{"a": "u1@10", "c": "u3@9", "d": "u4@8"}

// TestVerifyFindsWhatTheWatchHasNotBrought: once the store has reached the version of the
// server's list, what differs is wrong, and is repaired.
func TestVerifyFindsWhatTheWatchHasNotBrought(t *testing.T) {
	s := newPlaybook("10", seeds)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		var heard []string
		inf.Subscribe(func(_ context.Context, d Delta) { heard = append(heard, d.Kind.String()+" "+d.New.Name()) }, SubscribeOptions{})
		synctest.Wait()
		heard = nil
		s.set("20", map[string]string{"a": "u1@15", "b": "u2@16", "d": "u5@17"})
		lists := len(s.lists())
		v := verifies(t, inf)
		v.wantOpen()
		if st := inf.Status()[0]; st.Differences != 0 {
			t.Errorf("%d differences while it is not known whether they are", st.Differences)
		}
		s.sends(bookmarkAt(20))
		v.want(VerifyReport{Objects: 3, Missing: 1, Extra: 1, Older: 2, Repaired: 4})
		synctest.Wait()
		holds(t, inf.Collection, s.items)
		if len(heard) != 5 { // one of them is another object of its name
			t.Errorf("delivered: %v", heard)
		}
		if st := inf.Status()[0]; st.Differences != 4 || st.Verified != time.Now() {
			t.Errorf("Status says %d differences at %v", st.Differences, st.Verified)
		}
		all := s.lists()[lists:]
		if len(all) != 2 || !all[0].Metadata || all[0].Limit != verifyPage || all[1].Metadata || all[1].ResourceVersion != "" {
			t.Errorf("lists: %+v", all)
		}
		verifies(t, inf).want(VerifyReport{Objects: 3})
	})
}

// TestVerifyIsNotMisledByChanges: what changes while it compares is no difference, and
// nothing is listed for it.
func TestVerifyIsNotMisledByChanges(t *testing.T) {
	s := newPlaybook("10", seeds)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.set("20", map[string]string{"a": "u1@15", "b": "u2@16", "d": "u5@17"})
		v := verifies(t, inf)
		s.sends(modified("a", "u1@15"), deletedAs("d", "u4@11"), addedAs("b", "u2@16"), addedAs("d", "u5@17"), modified("c", "u3@18"))
		v.wantOpen() // the list is of version 20
		s.sends(deletedAs("c", "u3@19"), deletedAs("b", "u2@21"), modified("a", "u1@22"), addedAs("c", "u6@23"))
		v.want(VerifyReport{Objects: 3})

		s.set("40", map[string]string{"a": "u1@22", "b": "u7@31", "c": "u6@32"})
		v = verifies(t, inf)
		s.sends(addedAs("b", "u7@31"), modified("c", "u6@32"))
		v.wantOpen()
		s.sends(deletedAs("d", "u5@33")) // now it has all, and 40 need not come
		v.want(VerifyReport{Objects: 3})
		if n := len(s.lists()); n != 3 {
			t.Errorf("%d lists", n)
		}
	})
}

// TestVerifyWithoutAWord: where the watch says nothing for longer than bookmarks take, the
// store is behind.
func TestVerifyWithoutAWord(t *testing.T) {
	s := newPlaybook("10", seeds)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.set("20", map[string]string{"a": "u1@15"})
		began := time.Now()
		verifies(t, inf).want(VerifyReport{Objects: 1, Extra: 2, Older: 1, Repaired: 3})
		if took := time.Since(began); took != verifyPatience {
			t.Errorf("it took %v", took)
		}
		holds(t, inf.Collection, s.items)
	})
}

// TestVerifyFindsAHistoryThatWentBack: lower versions than what the store has are noticed
// without waiting for anything.
func TestVerifyFindsAHistoryThatWentBack(t *testing.T) {
	s := newPlaybook("30", map[string]string{"a": "u1@25", "b": "u2@26"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.set("20", map[string]string{"a": "u1@15"})
		verifies(t, inf).want(VerifyReport{Objects: 1, Extra: 1, Newer: 1, Repaired: 2})
		holds(t, inf.Collection, s.items)
		if st := inf.Status()[0]; st.Epochs != 1 {
			t.Errorf("%d epochs", st.Epochs)
		}
	})
}

// TestVerifyUnordered: where versions prove nothing, what differs in the same way twice
// counts, and what changes does not.
func TestVerifyUnordered(t *testing.T) {
	s := newPlaybook("x", map[string]string{"a": "u1@p", "b": "u2@q"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.set("y", map[string]string{"a": "u1@r", "c": "u3@s"})
		v := verifies(t, inf)
		s.sends(deletedAs("b", "u2@t"))
		v.want(VerifyReport{Objects: 2, Missing: 1, Older: 1, Repaired: 2})
		holds(t, inf.Collection, s.items)
		verifies(t, inf).want(VerifyReport{Objects: 2})
	})
}

// TestVerifyPolling: what is as old as the last poll is no difference.
func TestVerifyPolling(t *testing.T) {
	for _, version := range []string{"20", "y"} {
		t.Run(version, func(t *testing.T) {
			s := newPlaybook("10", seeds)
			s.watch = func(context.Context, WatchOptions) (WatchStream, error) {
				return nil, status(http.StatusForbidden, metav1.StatusReasonForbidden)
			}
			scripted(t, s, ReflectorOptions{Poll: time.Hour}, func(inf *Informer) {
				<-time.After(10 * time.Hour)
				s.set(version, map[string]string{"a": "u1@15"})
				began := time.Now()
				verifies(t, inf).want(VerifyReport{Objects: 1})
				if took := time.Since(began); took > verifyPatience {
					t.Errorf("it took %v", took)
				}
				holds(t, inf.Collection, s.items)
			})
		})
	}
}

// TestVerifyAsksAgain: a connection that breaks is no reason to give up.
func TestVerifyAsksAgain(t *testing.T) {
	s := newPlaybook("10", seeds)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		asked := 0
		s.mu.Lock()
		s.list = func(ListOptions) (ListStream, error) {
			if asked++; asked < verifyAttempts {
				return nil, io.ErrUnexpectedEOF
			}
			return answer("10", seeds), nil
		}
		s.mu.Unlock()
		verifies(t, inf).want(VerifyReport{Objects: len(seeds)})
	})
}

// TestVerifyErrors: what is not running, not synced or refused is said.
func TestVerifyErrors(t *testing.T) {
	s := newPlaybook("10", seeds)
	refused := status(http.StatusForbidden, metav1.StatusReasonForbidden)
	synctest.Test(t, func(t *testing.T) {
		s.events = make(chan Event)
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, errs := inf.Verify(over); len(errs) != 1 || !errors.As(errs[0], new(*SyncError)) {
			t.Errorf("before it runs: %v", errs)
		}
		stop := playing(t, inf)
		synctest.Wait()
		s.mu.Lock()
		s.list = func(ListOptions) (ListStream, error) { return nil, refused }
		s.mu.Unlock()
		_, errs := inf.Verify(t.Context())
		var why *VerifyError
		if len(errs) != 1 || !errors.As(errs[0], &why) || !errors.Is(why, refused) || why.Status.State != Watching {
			t.Errorf("while it is refused: %v", errs)
		}
		s.mu.Lock()
		s.list = nil
		s.mu.Unlock()
		s.set("20", nil)
		v := verifies(t, inf)
		v.wantOpen()
		stop()
		<-v.done
		if len(v.errs) != 1 || !errors.Is(v.errs[0], ErrNotRunning) {
			t.Errorf("when it stops: %v", v.errs)
		}
		if _, errs := inf.Verify(t.Context()); len(errs) != 1 || !errors.Is(errs[0], ErrNotRunning) {
			t.Errorf("after it ran: %v", errs)
		}
	})
}
