package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestSourceGivesUpOnEmptyReads(t *testing.T) {
	s := newSource(readFunc(func([]byte) (int, error) { return 0, nil }), 100)
	if err := s.more(); err != io.ErrNoProgress {
		t.Errorf("more: %v, want ErrNoProgress", err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestSourceRefusesImpossibleCounts(t *testing.T) {
	for _, n := range []int{-1, 1 << 30} {
		s := newSource(readFunc(func([]byte) (int, error) { return n, nil }), 100)
		if err := s.more(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("count %d: %v", n, err)
		}
	}
}

// The buffer grows while reads fill it, and shrinks once they have become small.
func TestSourceFollowsTheLoad(t *testing.T) {
	chunk := 1 << 20
	s := newSource(readFunc(func(p []byte) (int, error) { return min(len(p), chunk), nil }), 8*smallBuffer)
	run := func(n int) {
		for range n {
			if err := s.more(); err != nil {
				t.Fatal(err)
			}
			s.consume(s.size())
		}
	}
	run(1)
	if len(s.buf) != smallBuffer {
		t.Fatalf("starts with %d bytes, want %d", len(s.buf), smallBuffer)
	}
	run(10)
	if len(s.buf) != 8*smallBuffer {
		t.Errorf("has %d bytes under load, want %d", len(s.buf), 8*smallBuffer)
	}
	chunk = 100
	run(quietReads - 10)
	if len(s.buf) != 8*smallBuffer {
		t.Errorf("has shrunk to %d bytes too early", len(s.buf))
	}
	run(10 * quietReads)
	if len(s.buf) != smallBuffer {
		t.Errorf("has %d bytes when idle, want %d", len(s.buf), smallBuffer)
	}
}

// A single large thing makes the buffer as large as needed, in steps, for a while.
func TestSourceGrowsForOneThing(t *testing.T) {
	const size = 10 * smallBuffer
	s := newSource(bytes.NewReader(make([]byte, size)), smallBuffer)
	data, err := s.need(size)
	if err != nil || len(data) != size {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if len(s.buf) > 2*size {
		t.Errorf("buffer of %d bytes for %d", len(s.buf), size)
	}
}
