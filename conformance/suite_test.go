package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		subject, behaviour, found := strings.Cut(c.Name, "/")
		if !found || subject == "" || behaviour == "" {
			t.Errorf("case %q is not named subject/behaviour", c.Name)
		}
		if seen[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		seen[c.Name] = true
		if c.run == nil {
			t.Errorf("case %q does nothing", c.Name)
		}
	}
}

func TestMeetingIsHeldWhenAllWaitOrHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeeting(3)
		acts := 0
		go m.hold(t.Context(), func(context.Context) error {
			acts++
			return errors.New("it went wrong")
		})
		told := make(chan error, 2)
		for range 2 {
			go func(g *guest) {
				told <- g.attend(t.Context())
				g.leave() // a second time does no harm
			}(m.guest())
		}
		synctest.Wait()
		if acts != 0 {
			t.Fatal("the meeting was held while a guest was missing")
		}
		m.guest().leave()
		for range 2 {
			if err := <-told; err == nil || acts != 1 {
				t.Errorf("a guest was told %v after %d acts, want the error of the one act", err, acts)
			}
		}
	})
}

func TestMeetingIsNotHeldForNobody(t *testing.T) {
	m := newMeeting(2)
	m.guest().leave()
	m.guest().leave()
	m.hold(t.Context(), func(context.Context) error {
		t.Error("the meeting was held, and nobody had waited for it")
		return nil
	})
}

func TestGuestDoesNotWaitForEver(t *testing.T) {
	m := newMeeting(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.guest().attend(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("told %v, want that its time is over", err)
	}
}
