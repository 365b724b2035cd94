package kube

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/transport"
)

// linger is how long the connections of lists stay open for the next page or list.
const linger = 5 * time.Second

// ownConnections limits how many lists in the process may have their own connection at
// the same time: a handshake costs more than a short list saves. A list that finds no
// free place does not wait, because a hanging server might hold one for long; it shares
// the connection of the watches.
var ownConnections = make(chan struct{}, 8)

// split sends long lists over HTTP/1.1 and everything else over HTTP/2. The frames and
// flow control of HTTP/2 are a third of a client's work on a long response and gain
// nothing there; many watches on one connection need them. It sits below everything
// that authenticates, wraps or limits requests, so that there is one of each.
type split struct {
	http2, http1 http.RoundTripper
	proven       atomic.Bool // the server has answered over HTTP/1.1
	onlyHTTP2    atomic.Bool // the server was found not to
	idle         *time.Timer // closes the idle connections of lists
}

// splitLists makes the client of a configuration send long lists over HTTP/1.1.
func splitLists(tc *transport.Config) error {
	http1, err := http1Transport(tc)
	if err != nil {
		return err
	}
	tc.WrapTransport = transport.Wrappers(func(http2 http.RoundTripper) http.RoundTripper {
		s := &split{http2: http2, http1: http1}
		s.idle = time.AfterFunc(linger, func() { utilnet.CloseIdleConnectionsFor(http1) })
		s.idle.Stop() // there is nothing to close yet
		return s
	}, tc.WrapTransport)
	return nil
}

// http1Transport returns a transport that connects as the configuration says, except
// for the protocol, and applies nothing else of it. client-go makes it, shares it, and
// rotates its certificates.
func http1Transport(tc *transport.Config) (bare http.RoundTripper, err error) {
	c := &transport.Config{
		TLS:                tc.TLS,
		DialHolder:         tc.DialHolder,
		Proxy:              tc.Proxy,
		DisableCompression: tc.DisableCompression,
		// Without client-go's logging of requests, which is around split.
		WrapTransport: func(rt http.RoundTripper) http.RoundTripper { bare = rt; return rt },
	}
	c.TLS.NextProtos = []string{"http/1.1"} // which makes client-go leave HTTP/2 alone
	_, err = transport.New(c)
	return bare, err
}

func (s *split) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isLong(r.Context()) || r.URL.Scheme != "https" || s.onlyHTTP2.Load() {
		return s.http2.RoundTrip(r)
	}
	select {
	case ownConnections <- struct{}{}:
	default:
		return s.http2.RoundTrip(r)
	}
	done := sync.OnceFunc(func() {
		<-ownConnections
		s.idle.Reset(linger)
	})
	resp, err := s.http1.RoundTrip(uncompressed(r))
	if err != nil {
		done()
		return s.again(r, err)
	}
	s.proven.Store(true)
	resp.Body = &listBody{resp.Body, done}
	return resp, nil
}

// uncompressed returns a request for the same list as it is.
func uncompressed(r *http.Request) *http.Request {
	const header = "Accept-Encoding"
	if r.Header.Get(header) == "identity" {
		return r
	}
	c := *r
	c.Header = r.Header.Clone()
	c.Header.Set(header, "identity")
	return &c
}

// again retries over HTTP/2 what failed over HTTP/1.1, if the server may not support
// HTTP/1.1. Such servers refuse the handshake, hang up after it, or answer in HTTP/2
// anyway; what they have in common is that HTTP/2 works.
func (s *split) again(r *http.Request, err error) (*http.Response, error) {
	var op *net.OpError
	unreachable := errors.As(err, &op) && op.Op == "dial"
	if s.proven.Load() || unreachable || r.Context().Err() != nil {
		return nil, err
	}
	resp, err := s.http2.RoundTrip(r)
	if err == nil {
		s.onlyHTTP2.Store(true)
	}
	return resp, err
}

// CloseIdleConnections closes those of both transports.
func (s *split) CloseIdleConnections() {
	utilnet.CloseIdleConnectionsFor(s.http1)
	utilnet.CloseIdleConnectionsFor(s.http2)
}

// WrappedRoundTripper lets client-go find what is below.
func (s *split) WrappedRoundTripper() http.RoundTripper { return s.http2 }

// listBody notices when a list is done with its connection.
type listBody struct {
	io.ReadCloser
	done func()
}

func (b *listBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

type longKey struct{}

// long marks the context of a request whose answer may be long.
func long(ctx context.Context) context.Context { return context.WithValue(ctx, longKey{}, true) }

func isLong(ctx context.Context) bool { return ctx.Value(longKey{}) != nil }
