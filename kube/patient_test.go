package kube

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// pieces is a connection on which something comes at each of some times.
type pieces struct {
	net.Conn
	every time.Duration
	left  [][]byte
	reads int
}

func (c *pieces) Read(b []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	c.reads++
	time.Sleep(c.every)
	n := copy(b, c.left[0])
	if c.left[0] = c.left[0][n:]; len(c.left[0]) == 0 {
		c.left = c.left[1:]
	}
	return n, nil
}

func (c *pieces) add(count, size int) (all []byte) {
	for i := range count {
		piece := bytes.Repeat([]byte{byte(i)}, size)
		c.left = append(c.left, piece)
		all = append(all, piece...)
	}
	return all
}

func TestPatientConnectionsLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &pieces{}
		want := c.add(2000, 4_099)
		want = append(want, c.add(3, gathered+17)...)
		want = append(want, c.add(100, 1)...)
		got, err := io.ReadAll(iotest.HalfReader(&patient{Conn: c}))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes and %v, want %d bytes", len(got), err, len(want))
		}
	})
}

// What comes now and then is read at once, also after a bulk.
func TestPatienceEndsWithTheBulk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &pieces{}
		c.add(2*bulk/4096, 4096)
		p := &patient{Conn: c}
		began := time.Now()
		if _, err := io.ReadAll(p); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) == 0 || p.buf == nil {
			t.Fatal("a bulk was read without patience")
		}
		c.every = 5 * aBreak
		c.add(3, 100)
		buf := make([]byte, 1000)
		for i := range 3 {
			began := time.Now()
			if n, err := p.Read(buf); n != 100 || err != nil {
				t.Fatal(n, err)
			}
			if i > 0 && time.Since(began) != c.every {
				t.Errorf("event %d waited for %v", i, time.Since(began)-c.every)
			}
		}
		if p.buf != nil {
			t.Error("the memory for a bulk is kept")
		}
	})
}
