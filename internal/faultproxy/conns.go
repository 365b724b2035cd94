package faultproxy

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// listener hands out connections that can be cut at any byte.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns map[*conn]bool
}

func newListener(l net.Listener) *listener { return &listener{Listener: l, conns: map[*conn]bool{}} }

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := &conn{Conn: c, listener: l, left: -1}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[own] = true
	return own, nil
}

func (l *listener) cutAll() {
	l.mu.Lock()
	all := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		c.cut()
	}
}

// conn is a client's connection.
type conn struct {
	net.Conn
	listener *listener

	mu   sync.Mutex
	left int // bytes until it is cut; negative: it is not to be cut
	// fragile is until when the connection carries events that must not be torn from
	// each other: it may be closed then, but nothing that was sent may get lost.
	fragile time.Time
}

// cutAfter cuts the connection when so many more bytes were sent.
func (c *conn) cutAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left < 0 {
		c.left = n
	}
}

// keepWhole has what is sent in the next moments arrive whatever happens.
func (c *conn) keepWhole() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fragile = time.Now().Add(2 * time.Second)
}

func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	left := c.left
	if left < 0 || time.Now().Before(c.fragile) {
		c.mu.Unlock()
		return c.Conn.Write(b)
	}
	if len(b) <= left {
		c.left -= len(b)
		c.mu.Unlock()
		return c.Conn.Write(b)
	}
	c.mu.Unlock()
	_, _ = c.Conn.Write(b[:left])
	c.cut()
	return left, net.ErrClosed
}

// cut closes the connection: with a reset, unless something has to arrive.
func (c *conn) cut() {
	c.mu.Lock()
	fragile := time.Now().Before(c.fragile)
	c.mu.Unlock()
	if t, ok := c.Conn.(*net.TCPConn); ok && !fragile {
		_ = t.SetLinger(0) // on a closed connection there is nothing to do
	}
	_ = c.Close()
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// rememberConn lets requests find their connection.
func rememberConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
