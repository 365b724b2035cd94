package apisim

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// memoryListener accepts connections that never leave the process. All that
// waits on them waits on channels, which is what testing/synctest needs.
type memoryListener struct {
	dialled chan net.Conn
	closed  chan struct{}
	close   func()
}

func listenInMemory() *memoryListener {
	l := &memoryListener{dialled: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.close()
	return nil
}

// Addr is what clients believe to call: an address of this machine, so that none
// of them looks for a proxy.
func (l *memoryListener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443}
}

// dial connects to the server, whatever the address.
func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	client, server := buffered(near, l.Addr()), buffered(far, l.Addr())
	client.peer, server.peer = server, client
	select {
	case l.dialled <- server:
		return client, nil
	case <-l.closed:
		client.abandon()
		server.abandon()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	case <-ctx.Done():
		client.abandon()
		server.abandon()
		return nil, ctx.Err()
	}
}

// memoryConn is one end of a pipe that takes what is written to it before the
// other end reads it, as the kernel does. Without that, two ends that write at
// the same time would wait for each other.
type memoryConn struct {
	net.Conn
	peer    *memoryConn
	addr    net.Addr
	queue   chan []byte
	closed  chan struct{}
	close   func()
	drained chan struct{} // closed when nothing more is going to be sent
}

// memoryQueue is how many writes may be under way. They are bounded by the
// buffers of net/http: 4 KiB each, or one frame of HTTP/2.
const memoryQueue = 256

func buffered(c net.Conn, addr net.Addr) *memoryConn {
	m := &memoryConn{Conn: c, addr: addr, queue: make(chan []byte, memoryQueue),
		closed: make(chan struct{}), drained: make(chan struct{})}
	m.close = sync.OnceFunc(func() { close(m.closed) })
	go m.send()
	return m
}

// send hands on what was written, and closes the pipe after the last of it.
func (m *memoryConn) send() {
	defer close(m.drained)
	defer m.Conn.Close()
	for {
		select {
		case b := <-m.queue:
			if _, err := m.Conn.Write(b); err != nil {
				return
			}
			continue
		default:
		}
		select {
		case b := <-m.queue:
			if _, err := m.Conn.Write(b); err != nil {
				return
			}
		case <-m.closed:
			if len(m.queue) == 0 {
				return
			}
		}
	}
}

func (m *memoryConn) Write(b []byte) (int, error) {
	select {
	case <-m.closed:
		return 0, net.ErrClosed
	case <-m.drained:
		return 0, io.ErrClosedPipe
	default:
	}
	select {
	case m.queue <- append([]byte(nil), b...):
		return len(b), nil
	case <-m.closed:
		return 0, net.ErrClosed
	case <-m.drained:
		return 0, io.ErrClosedPipe
	}
}

// Close has what was written before arrive, if the other end reads it within
// a moment and does not close itself.
func (m *memoryConn) Close() error {
	m.close()
	select {
	case <-m.peer.closed:
		_ = m.peer.Conn.Close() // a pipe can be closed twice
		return m.Conn.Close()
	default:
		return m.Conn.SetDeadline(time.Now().Add(time.Second))
	}
}

// abandon closes a connection that nobody has.
func (m *memoryConn) abandon() {
	m.close()
	_ = m.Conn.Close()
}

// Writing never waits for long, so only reading has a deadline.
func (m *memoryConn) SetDeadline(t time.Time) error    { return m.SetReadDeadline(t) }
func (m *memoryConn) SetWriteDeadline(time.Time) error { return nil }

func (m *memoryConn) SetReadDeadline(t time.Time) error {
	select {
	case <-m.closed:
		return net.ErrClosed
	default:
		return m.Conn.SetReadDeadline(t)
	}
}

func (m *memoryConn) LocalAddr() net.Addr  { return m.addr }
func (m *memoryConn) RemoteAddr() net.Addr { return m.addr }
