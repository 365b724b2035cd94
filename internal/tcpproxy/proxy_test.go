package tcpproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo starts a server that sends back what it gets, and a proxy before it.
func echo(t *testing.T) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // ends when the test cuts it
			}()
		}
	}()
	p, err := Start(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if n := p.Open(); n != 0 {
			t.Errorf("%d connections are open after Close", n)
		}
		l.Close()
		<-ended
	})
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := c.Write([]byte(s)); err != nil {
		t.Fatalf("sending %q: %v", s, err)
	}
}

func receive(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("received %q (%v), want %q", got, err, want)
	}
}

func TestPassesBytes(t *testing.T) {
	p := echo(t)
	a, b := dial(t, p), dial(t, p)
	send(t, a, "one")
	send(t, b, "two")
	receive(t, b, "two")
	receive(t, a, "one")
	if p.Accepted() != 2 || p.Open() != 2 {
		t.Errorf("accepted %d, open %d, want 2 and 2", p.Accepted(), p.Open())
	}
	if err := a.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the end of what was sent: %v, want EOF", err)
	}
}

func TestCut(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	send(t, c, "one")
	receive(t, c, "one")
	p.Cut()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading from a cut connection: %v, want a reset", err)
	}
	again := dial(t, p)
	send(t, again, "two")
	receive(t, again, "two")
}

func TestRefuse(t *testing.T) {
	p := echo(t)
	open := dial(t, p)
	if err := p.Refuse(true); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling while refused: %v, want refused", err)
	}
	if err := p.Refuse(false); err != nil {
		t.Fatal(err)
	}
	c := dial(t, p)
	send(t, c, "one")
	receive(t, c, "one")
	send(t, open, "stays open")
	receive(t, open, "stays open")
}

func TestHang(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	send(t, c, "one")
	receive(t, c, "one")
	p.Hang(true)
	send(t, c, "two")
	fresh := dial(t, p)
	send(t, fresh, "three")
	for _, conn := range []net.Conn{c, fresh} {
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading while it hangs: %v, want nothing to come", err)
		}
		if err := conn.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	p.Hang(false)
	receive(t, c, "two")
	receive(t, fresh, "three")
}

func TestCloseWhileItHangs(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	send(t, c, "one")
	receive(t, c, "one")
	p.Hang(true)
	send(t, c, "two")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling a closed proxy: %v, want refused", err)
	}
}
