package engine

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestLongestWaits: numbers that mean never are no short waits.
func TestLongestWaits(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, b := range []Backoff{{Most: math.MaxInt64}, {First: math.MaxInt64, Most: math.MaxInt64}, {First: month, Most: 2 * month}} {
		var last time.Duration
		for failures := range 40 {
			d := b.delay(failures, nil)
			if d <= last/2 {
				t.Errorf("%v: %v after failure %d, %v before", b, d, failures, last)
			}
			last = d
		}
	}
	s := newPlaybook("70", map[string]string{"a": "u1@10"})
	scripted(t, s, ReflectorOptions{Silence: math.MaxInt64}, func(*Informer) {
		for i := range 60 {
			time.Sleep(time.Minute)
			s.sets(fmt.Sprint(71+i), s.items)
			s.sends(ends)
		}
		if n := len(s.lists()); n != 1 {
			t.Errorf("%d lists in an hour, though watches may be silent for ever", n)
		}
	})
}
