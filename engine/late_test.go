package engine

import (
	"errors"
	"fmt"
	"testing"
)

func version(n uint64) Version { return Version{number: n} }

// TestLateOrAgain has the watch at version 20 and above, after a list at 10.
func TestLateOrAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		held uint64 // the version in the store; 0: none
		gone uint64 // when its end was told; 0: it was not
		at   uint64
		late bool
	}{
		{"new, and in the list already", 0, 0, 10, false},
		{"new", 0, 0, 11, true},
		{"newer than the store", 12, 0, 13, true},
		{"the state of the store", 12, 0, 12, false},
		{"older than the store", 12, 0, 11, false},
		{"from before its end", 0, 15, 14, false},
		{"its end", 0, 15, 15, false},
		{"from after its end", 0, 15, 16, true},
		{"its end, and it is back", 17, 15, 15, false},
		{"from before its end, which the store does not have yet", 12, 15, 14, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m removals
			m.reset(version(10))
			var held *Record
			if c.held > 0 {
				held = &Record{number: c.held}
			}
			if c.gone > 0 {
				m.note("ns/a", version(c.gone))
			}
			if late, err := m.isLate("ns/a", version(c.at), held); late != c.late || err != nil {
				t.Errorf("late: %v, %v; want %v", late, err, c.late)
			}
		})
	}
}

// TestForgottenRemovals: what may be an object whose end was forgotten is not guessed
// at, and memory has a limit.
func TestForgottenRemovals(t *testing.T) {
	var m removals
	m.reset(version(1))
	for i := range uint64(rememberedRemovals + 10) {
		m.note(fmt.Sprint(i), version(100+i))
	}
	if n := len(m.at); n != rememberedRemovals {
		t.Errorf("%d removals are remembered, want %d", n, rememberedRemovals)
	}
	for _, c := range []struct {
		key  string
		at   uint64
		late bool
		err  error
	}{
		{"0", 50, false, errOutOfOrder},
		{"other", 109, false, errOutOfOrder},
		{"other", 110, true, nil},
		{"10", 50, false, nil}, // remembered
	} {
		if late, err := m.isLate(c.key, version(c.at), nil); late != c.late || !errors.Is(err, c.err) {
			t.Errorf("%s@%d: %v, %v; want %v, %v", c.key, c.at, late, err, c.late, c.err)
		}
	}
	m.reset(version(200))
	if late, err := m.isLate("other", version(150), nil); late || err != nil {
		t.Errorf("after a list that has it: %v, %v", late, err)
	}
}

func TestSameBytes(t *testing.T) {
	const bare = `{"metadata":{"name":"a"}}`
	const named = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{bare, bare, true},
		{bare, named, true},
		{named, bare, true},
		{named, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"}}`, false},
		{bare, `{"metadata":{"name":"b"}}`, false},
		{`{"kind":"ConfigMap"}`, bare, false},
		{"\x0a\x03abc", "\x0a\x03abd", false},
	} {
		if same := sameBytes([]byte(c.a), []byte(c.b)); same != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, same)
		}
	}
}
