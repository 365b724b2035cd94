package chaos

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// network is the connections of a run. Client-go keeps its own for the life of the
// process; these end with the run.
type network struct {
	mu         sync.Mutex
	conns      map[net.Conn]bool
	transports map[*http.Transport]bool
}

func newNetwork() *network {
	return &network{conns: map[net.Conn]bool{}, transports: map[*http.Transport]bool{}}
}

// own returns cfg with a transport of its own, until release.
func (n *network) own(cfg *rest.Config, http1 bool) (*rest.Config, error) {
	tls, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{TLSClientConfig: tls, DialContext: n.dial, MaxIdleConnsPerHost: 32, ForceAttemptHTTP2: !http1,
		IdleConnTimeout: 10 * time.Second}
	n.mu.Lock()
	n.transports[t] = true
	n.mu.Unlock()
	c := rest.CopyConfig(cfg)
	c.TLSClientConfig = rest.TLSClientConfig{}
	c.Transport = t
	return c, nil
}

// release ends the transport of a configuration that own returned.
func (n *network) release(cfg *rest.Config) {
	t, ok := cfg.Transport.(*http.Transport)
	if !ok {
		return
	}
	t.CloseIdleConnections()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.transports, t)
}

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	own := &ownConn{Conn: c, network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[own] = true
	return own, nil
}

type ownConn struct {
	net.Conn
	network *network
}

func (c *ownConn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

// close ends all connections.
func (n *network) close() {
	n.mu.Lock()
	transports := maps.Clone(n.transports)
	conns := make([]net.Conn, 0, len(n.conns))
	for c := range n.conns {
		conns = append(conns, c)
	}
	n.mu.Unlock()
	for t := range transports {
		t.CloseIdleConnections()
	}
	for _, c := range conns {
		_ = c.Close()
	}
}
