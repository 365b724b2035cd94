// Package tcpproxy is a TCP proxy on the loopback interface, for tests that need
// a bad network between a client and a server: connections that break, are
// refused, or stop moving bytes. TLS passes through untouched.
//
// What may live here: what a network does to bytes it cannot read. What may not:
// anything that knows what the bytes mean.
package tcpproxy

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

// Proxy passes connections on to a target until it is made to misbehave. Its
// methods may be called by many goroutines.
type Proxy struct {
	target string
	addr   string

	mu       sync.Mutex
	door     *door // nil while connections are refused
	links    map[*link]bool
	hung     chan struct{} // closed to let bytes pass again; nil while they do
	closed   bool
	accepted int

	goroutines sync.WaitGroup
}

// Start returns a proxy that listens on a loopback port of its own, in front of
// target ("host:port"). Close must be called on it.
func Start(target string) (*Proxy, error) {
	p := &Proxy{target: target, links: map[*link]bool{}}
	// Ports below the range from which systems take those of outgoing
	// connections: such a port is still free after it was refusing for a while.
	const low, high, attempts = 10_000, 20_000, 100
	var err error
	for range attempts {
		p.addr = fmt.Sprintf("127.0.0.1:%d", low+rand.IntN(high-low))
		if err = p.Refuse(false); err == nil {
			return p, nil
		}
	}
	return nil, err
}

// Addr is where the proxy listens, as "host:port".
func (p *Proxy) Addr() string { return p.addr }

// door is where connections come in.
type door struct {
	net.Listener
	shut chan struct{} // closed when nobody comes in any more
}

// Refuse makes the system refuse new connections, or accept them again, at the
// same address. Connections that are open stay open; when Refuse(true) returns,
// there will be no others, so that a Cut then reaches all.
func (p *Proxy) Refuse(refuse bool) error {
	if refuse {
		return p.shut()
	}
	return p.open()
}

func (p *Proxy) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	if p.door != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listen for the proxy of %s: %w", p.target, err)
	}
	d := &door{l, make(chan struct{})}
	p.door = d
	p.goroutines.Go(func() { p.accept(d) })
	return nil
}

func (p *Proxy) shut() error {
	p.mu.Lock()
	d := p.door
	p.door = nil
	p.mu.Unlock()
	if d == nil {
		return nil
	}
	err := d.Close()
	<-d.shut
	return err
}

// Hang keeps all bytes back, in both directions, on connections old and new, or
// lets them go on their way.
func (p *Proxy) Hang(hang bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case hang && p.hung == nil:
		p.hung = make(chan struct{})
	case !hang && p.hung != nil:
		close(p.hung)
		p.hung = nil
	}
}

// Cut breaks every connection at once: both ends see a reset.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Accepted counts the connections that were ever accepted.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open counts the connections that are open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close cuts everything and returns when nothing of the proxy is left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.shut()
	p.Cut()
	p.goroutines.Wait()
	return err
}

func (p *Proxy) accept(d *door) {
	defer close(d.shut)
	for {
		client, err := d.Accept()
		if err != nil {
			return // shut
		}
		p.admit(client)
	}
}

// admit counts a connection and starts to serve it. It is known, and can be cut,
// before the target is asked.
func (p *Proxy) admit(client net.Conn) {
	l := &link{proxy: p, client: client, broken: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	p.links[l] = true
	p.goroutines.Go(l.serve)
}

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client net.Conn

	once   sync.Once
	broken chan struct{} // closed when the link is cut

	mu     sync.Mutex
	server net.Conn // nil until the target has answered
}

func (l *link) serve() {
	defer func() {
		l.cut()
		l.proxy.mu.Lock()
		delete(l.proxy.links, l)
		l.proxy.mu.Unlock()
	}()
	server, err := net.Dial("tcp", l.proxy.target)
	if err != nil || !l.connected(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pump(server, l.client) })
	both.Go(func() { l.pump(l.client, server) })
	both.Wait()
}

// connected notes the other end, unless the link was cut meanwhile.
func (l *link) connected(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.broken:
		reset(server)
		return false
	default:
		l.server = server
		return true
	}
}

// pump moves bytes one way until either end is done with that way.
func (l *link) pump(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !l.passes() {
			return
		}
		if _, writeErr := to.Write(buf[:n]); writeErr != nil {
			l.cut()
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = to.(*net.TCPConn).CloseWrite() // it may be closed already
			return
		case err != nil:
			l.cut()
			return
		}
	}
}

// passes waits while the proxy hangs; false: the link was cut.
func (l *link) passes() bool {
	l.proxy.mu.Lock()
	hung := l.proxy.hung
	l.proxy.mu.Unlock()
	if hung == nil {
		return true
	}
	select {
	case <-hung:
		return true
	case <-l.broken:
		return false
	}
}

func (l *link) cut() {
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.broken)
		reset(l.client)
		if l.server != nil {
			reset(l.server)
		}
	})
}

// reset closes a connection without the usual farewell.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0) // on a closed connection there is nothing to do
	c.Close()
}
