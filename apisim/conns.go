package apisim

import (
	"net"
	"sync"
)

// connections are the open connections of a server, to cut them all.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// listener adds every connection that it accepts to connections.
type listener struct {
	net.Listener
	connections *connections
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: c, connections: l.connections}
	l.connections.mu.Lock()
	defer l.connections.mu.Unlock()
	if l.connections.open == nil {
		l.connections.open = map[net.Conn]struct{}{}
	}
	l.connections.open[tracked] = struct{}{}
	return tracked, nil
}

type trackedConn struct {
	net.Conn
	connections *connections
}

func (c *trackedConn) Close() error {
	c.connections.mu.Lock()
	delete(c.connections.open, c)
	c.connections.mu.Unlock()
	return c.Conn.Close()
}

// cut closes all connections that are open now.
func (c *connections) cut() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Close()
	}
}
