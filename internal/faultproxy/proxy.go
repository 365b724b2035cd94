// Package faultproxy is an HTTP proxy between an informer and an API server that
// does to requests, answers and watch events what networks, load balancers and
// broken servers do. It understands lists and watches, in JSON and protobuf, and
// speaks TLS with HTTP/2 or HTTP/1.1. What happens to a request follows from the
// seed, who asks (the user agent) and how often it has asked, so that a run can be
// repeated as far as the order of things in time can be.
//
// What is not injected, because no client can notice it, whatever it does:
//   - an event left out while later ones come: watches carry no count of events, and
//     versions have gaps by nature;
//   - a bookmark or a list that names a higher version than its content has;
//   - a list that lacks objects and is otherwise right, or one that ends between two
//     objects of protobuf without an envelope;
//   - other content of the right form: nothing is signed or summed on the wire, so noise
//     here is always such that no decoder takes it;
//   - two events that change places with a break of the connection between them: the
//     client goes on after the later one. They are sent in one piece;
//   - a server whose history goes back and passes the version that the client holds
//     before the client asks again. Whoever winds a server back has to wait (see
//     Sever).
//
// What may live here: what happens on the way between client and server. What may
// not: what happens inside a server (restarts, lost history, backups), which
// package chaos does.
package faultproxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Options of a proxy.
type Options struct {
	// Target is the server behind the proxy, with what it takes to be let in: clients
	// of the proxy need no credentials.
	Target *rest.Config
	// Seed of what happens.
	Seed uint64
	// Requests is the share of requests that suffer. Default: 0.2.
	Requests float64
	// WatchLife is how long a watch lives before it suffers, on average. Default:
	// one second.
	WatchLife time.Duration
	// Events is the share of a watch's events that suffer. Default: 0.02.
	Events float64
	// Only has no other kinds of faults injected. Default: all of them.
	Only []Kind
}

// Proxy is a running proxy. Its methods may be called by many goroutines.
type Proxy struct {
	options   Options
	target    *url.URL
	transport http.RoundTripper
	idle      func()
	server    *http.Server
	listener  *listener
	caPEM     []byte
	address   string
	served    chan struct{} // closed when the server has ended

	calm   atomic.Bool
	counts counts

	mu       sync.Mutex
	requests map[string]uint64 // by who asks for what: how often
	severed  chan struct{}     // closed to end all requests; then made again
	open     sync.WaitGroup    // requests under way; added to with mu held
}

// Start returns a proxy on a loopback port of its own. Close must be called on it.
func Start(o Options) (*Proxy, error) {
	if o.Requests == 0 {
		o.Requests = 0.2
	}
	if o.WatchLife == 0 {
		o.WatchLife = time.Second
	}
	if o.Events == 0 {
		o.Events = 0.02
	}
	p := &Proxy{options: o, requests: map[string]uint64{}, severed: make(chan struct{}), served: make(chan struct{})}
	if err := p.reachTarget(); err != nil {
		return nil, err
	}
	certificate, caPEM, err := makeCertificate()
	if err != nil {
		return nil, fmt.Errorf("make the proxy's certificate: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the proxy of %s: %w", o.Target.Host, err)
	}
	p.caPEM, p.address, p.listener = caPEM, l.Addr().String(), newListener(l)
	p.server = &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog:    log.New(io.Discard, "", 0), // broken connections are what it is for
		ConnContext: rememberConn,
	}
	go func() {
		defer close(p.served)
		_ = p.server.ServeTLS(p.listener, "", "") // it ends by Close
	}()
	return p, nil
}

// reachTarget makes the proxy's own connections to the server.
func (p *Proxy) reachTarget() error {
	tlsConfig, err := rest.TLSConfigFor(p.options.Target)
	if err != nil {
		return fmt.Errorf("the proxy's TLS to %s: %w", p.options.Target.Host, err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: 64, DisableCompression: true}
	p.idle = transport.CloseIdleConnections
	cfg := rest.CopyConfig(p.options.Target)
	cfg.TLSClientConfig, cfg.Transport = rest.TLSClientConfig{}, transport
	if p.transport, err = rest.TransportFor(cfg); err != nil {
		return fmt.Errorf("the proxy's way to %s: %w", cfg.Host, err)
	}
	if p.target, err = url.Parse(cfg.Host); err != nil || p.target.Host == "" {
		return fmt.Errorf("the address %q must be a URL: %w", cfg.Host, err)
	}
	return nil
}

// Config reaches the server through the proxy. Its UserAgent should be set to who
// asks; its NextProtos can ask for HTTP/1.1.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{
		Host:            "https://" + p.address,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.caPEM},
		QPS:             -1,
	}
}

// Calm stops injecting faults, or goes on. What already hangs goes on hanging until
// the client gives up.
func (p *Proxy) Calm(calm bool) { p.calm.Store(calm) }

// Sever cuts all connections. What has left the proxy may still be on its way to the
// client; only a request that the client makes after Sever proves that it is not.
func (p *Proxy) Sever() {
	p.mu.Lock()
	close(p.severed)
	p.severed = make(chan struct{})
	p.mu.Unlock()
	p.listener.cutAll()
	p.idle()
}

// Close cuts everything and returns when nothing of the proxy is left.
func (p *Proxy) Close() error {
	p.Sever()
	err := p.server.Close()
	<-p.served
	p.listener.cutAll()
	p.open.Wait()
	p.idle()
	return err
}

// serve passes one request on, or does worse.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	severed := p.severed
	p.open.Add(1)
	p.mu.Unlock()
	defer p.open.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x := &exchange{proxy: p, w: w, r: r, ctx: ctx, class: classOf(r)}
	x.rng = p.rng(x)
	go func() {
		select {
		case <-severed:
			cancel()
		case <-ctx.Done():
		}
	}()
	x.run()
}
