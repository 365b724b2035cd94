package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestDoubtfulEventsHoldNothingUp: where events come out of order all the time, lists
// that settle it become rare. Until such a list the watch goes on, the status names the
// cause, and other failures are not waited for any longer than before.
func TestDoubtfulEventsHoldNothingUp(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		version := 60
		for i := range 30 {
			version++
			s.sends(modified("a", fmt.Sprintf("u1@%d", version)))
			s.sets(fmt.Sprint(version), map[string]string{"a": fmt.Sprintf("u1@%d", version)})
			// Another object under the same name, from before.
			s.sends(modified("a", fmt.Sprintf("u%d@5", 100+i)))
			version++
			state := fmt.Sprintf("u1@%d", version)
			s.sets(fmt.Sprint(version), map[string]string{"a": state})
			s.sends(modified("a", state))
			synctest.Wait()
			if got := inf.Get("ns/a").Version().String(); got != fmt.Sprint(version) {
				t.Fatalf("the store has version %s of an object a moment after %d was sent", got, version)
			}
			time.Sleep(time.Second)
		}
		if st := inf.Status()[0]; st.State != Watching || st.Cause == nil {
			t.Errorf("%v, %v: want watching, with a cause", st.State, st.Cause)
		}
		if n := len(s.lists()); n > 10 {
			t.Errorf("%d lists in half a minute", n)
		}
		s.sends(ends)
		time.Sleep(2 * time.Second)
		if st := inf.Status()[0]; st.State != Watching {
			t.Errorf("%v two seconds after a watch broke", st.State)
		}
		time.Sleep(time.Minute)
		if st := inf.Status()[0]; st.State != Watching || st.Cause != nil {
			t.Errorf("%v, %v a minute later: want watching, without a cause", st.State, st.Cause)
		}
	})
}

// TestErrorsFarApart: where watches never last, as a proxy ends each after some seconds,
// an error now and then is not counted as one in a row.
func TestErrorsFarApart(t *testing.T) {
	s := newPlaybook("70", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		version := 70
		for range 20 {
			for range 40 { // of 7 seconds each
				version++
				state := fmt.Sprintf("u1@%d", version)
				s.sets(fmt.Sprint(version), map[string]string{"a": state})
				s.sends(modified("a", state))
				time.Sleep(7 * time.Second)
				s.sends(ends)
			}
			s.sends(forgets)
			time.Sleep(2 * time.Second)
			if st := inf.Status()[0]; st.State != Watching {
				t.Fatalf("%v two seconds after a watch ended, for another %v; %v", st.State, time.Until(st.NextTry), st.Cause)
			}
		}
	})
}

// patient is a server that waits for the version that a list asks for, for ever.
type patient struct{ *playbook }

func (s patient) List(ctx context.Context, o ListOptions) (ListStream, error) {
	if ParseVersion(s.version).Before(ParseVersion(o.ResourceVersion)) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.playbook.List(ctx, o)
}

// TestServerThatWaitsForOurVersion: a server whose history went back may wait for the
// version that a list asks for, for longer than the client does. The next list asks for
// whatever there is.
func TestServerThatWaitsForOurVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("70", map[string]string{"a": "u1@70"})
		s.events = make(chan Event, 10)
		inf := NewInformer(Options{}, ReflectorOptions{Silence: time.Second}, map[string]Source{"": patient{s}})
		defer playing(t, inf)()
		synctest.Wait()
		s.sets("10", map[string]string{"a": "u1@10"})
		s.sends(forgets)
		time.Sleep(time.Minute)
		holds(t, inf.Collection, s.items)
	})
}
