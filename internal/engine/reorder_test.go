package engine

import (
	"errors"
	"fmt"
	"testing"
)

func version(n uint64) Version { return Version{number: n} }

// TestForgottenRemovals: what may be an object whose end was forgotten is not guessed
// at, and memory has a limit in bytes.
func TestForgottenRemovals(t *testing.T) {
	var o order
	o.relisted(version(1), Version{}, false)
	object := func(name string, n uint64) *Record { return &Record{key: name, uid: uid{1}, number: n} }
	for i := range uint64(rememberedRemovals + 10) {
		o.note(object(fmt.Sprint(i), 0), 100+i, true)
	}
	if n := len(o.at); n*removalWeight > removalBudget {
		t.Errorf("%d removals are remembered, more than %d bytes", n, removalBudget)
	}
	for _, c := range []struct {
		key   string
		at    uint64
		stale bool
		err   error
	}{
		{"0", 50, false, errOutOfOrder},
		{"other", 109, false, errOutOfOrder},
		{"other", 110, false, nil},
		{"10", 50, true, nil}, // remembered
	} {
		if stale, err := o.isStale(object(c.key, c.at), nil, false); stale != c.stale || !errors.Is(err, c.err) {
			t.Errorf("%s@%d: %v, %v; want %v, %v", c.key, c.at, stale, err, c.stale, c.err)
		}
	}
	o.relisted(version(50), Version{}, true)
	if stale, err := o.isStale(object("10", 20), nil, false); stale || err != nil {
		t.Errorf("in a new epoch: %v, %v", stale, err)
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

func TestSameJSON(t *testing.T) {
	const a = `{"kind":"X","apiVersion":"v1","metadata":{"name":"a","generation":12345678901234567890},"data":{"x":"1","y":"2"}}`
	for b, same := range map[string]bool{
		`{"data":{"y":"2","x":"1"},  "metadata":{"generation":12345678901234567890,"name":"a"}}`: true,
		`{"data":{"y":"2","x":"1"},"metadata":{"generation":12345678901234567891,"name":"a"}}`:   false,
		`{"data":{"y":"2"},"metadata":{"generation":12345678901234567890,"name":"a"}}`:           false,
		`{`: false,
	} {
		if got := sameJSON([]byte(a), []byte(b)); got != same {
			t.Errorf("%s: %v", b, got)
		}
	}
}
