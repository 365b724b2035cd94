package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHistory: what a reflector went through is remembered in few moments, and a
// failure that comes again and again is one of them.
func TestHistory(t *testing.T) {
	var b statusBox
	fail := func(reason Reason, cause string) {
		b.update(func(s *Status) { s.Reason, s.Cause = reason, errors.New(cause) })
		b.enter(Waiting)
	}
	b.enter(Listing)
	b.enter(Watching)
	for range 3 {
		fail(Refused, "nobody listens")
		b.enter(Watching)
	}
	b.update(func(s *Status) { s.Reason, s.Cause = None, nil })
	fail(Garbled, "unexpected: hunter2")
	want := []string{"listing  1", "watching  1", "waiting unreachable 3 nobody listens", "watching  1", "waiting " + string(Garbled) + " 1"}
	if got := told(&b); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	for i := range 10 * longestHistory {
		fail([]Reason{Refused, Cut}[i%2], strings.Repeat("x", 10*longestCause))
		b.enter(Listing)
	}
	if n := len(b.past.moments); n != longestHistory {
		t.Errorf("%d moments, want %d", n, longestHistory)
	}
	if m := b.past.moments[0]; len(m.Cause) > longestCause {
		t.Errorf("a cause of %d bytes, want %d", len(m.Cause), longestCause)
	}
}

func told(b *statusBox) []string {
	var all []string
	for _, m := range b.past.moments {
		if m.At.IsZero() || m.Last.Before(m.At) || time.Since(m.At) > time.Hour {
			panic("a moment without its time")
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(m.State, " ", m.Reason, " ", m.Times, " ", m.Cause)))
	}
	return all
}
