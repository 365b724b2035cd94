package contract

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// network is the connections of one story. Client-go keeps its own for the life
// of the process; these can be ended, so that every goroutine that is left is
// somebody's mistake.
type network struct {
	mu         sync.Mutex
	conns      map[net.Conn]bool
	transports []*http.Transport

	bodies atomic.Int64 // responses that were not closed yet
}

func newNetwork() *network { return &network{conns: map[net.Conn]bool{}} }

// own returns cfg with a transport of its own.
func (n *network) own(cfg *rest.Config) (*rest.Config, error) {
	tls, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{TLSClientConfig: tls, DialContext: n.dial, MaxIdleConnsPerHost: 16, ForceAttemptHTTP2: len(cfg.NextProtos) == 0}
	n.mu.Lock()
	n.transports = append(n.transports, t)
	n.mu.Unlock()
	c := rest.CopyConfig(cfg)
	c.TLSClientConfig = rest.TLSClientConfig{}
	c.Transport = t
	c.Wrap(n.count)
	return c, nil
}

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c] = true
	return c, nil
}

// hangUp closes the connections that are idle.
func (n *network) hangUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.transports {
		t.CloseIdleConnections()
	}
}

// close ends the connections. A response that nobody has closed would hold its
// connection forever in a program that does not do this.
func (n *network) close(t *testing.T) {
	t.Helper()
	if open := n.bodies.Load(); open != 0 {
		t.Errorf("%d responses were not closed", open)
	}
	n.hangUp()
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		c.Close()
	}
}

// count notes the responses that are open.
func (n *network) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.Body != http.NoBody {
			n.bodies.Add(1)
			response.Body = &countedBody{ReadCloser: response.Body, open: &n.bodies}
		}
		return response, err
	})
}

type countedBody struct {
	io.ReadCloser
	open *atomic.Int64
	once sync.Once
}

func (b *countedBody) Close() error {
	b.once.Do(func() { b.open.Add(-1) })
	return b.ReadCloser.Close()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
