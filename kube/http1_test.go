package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/engine"
)

// collection is a server of one collection, in as many pages as are asked for. It
// notes over what it was asked.
type collection struct {
	*httptest.Server
	hang   chan struct{} // if there is one, the ends of lists wait for it
	closed chan net.Addr // connections, by the client's address

	mu    sync.Mutex
	asked []*http.Request
}

func newCollection(t *testing.T, change func(*httptest.Server)) *collection {
	c := &collection{closed: make(chan net.Addr, 100)}
	c.Server = httptest.NewUnstartedServer(c)
	c.EnableHTTP2 = true
	c.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	c.Config.ErrorLog = log.New(io.Discard, "", 0)
	c.Config.ConnState = func(conn net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			c.closed <- conn.RemoteAddr()
		}
	}
	if change != nil {
		change(c.Server)
	}
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

func (c *collection) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r)
	c.mu.Unlock()
	if r.FormValue("watch") != "" {
		return
	}
	next := map[string]string{"": "two", "two": "three"}[r.FormValue("continue")]
	if r.FormValue("limit") == "" {
		next = ""
	}
	fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":%q},`, next)
	if c.hang != nil {
		w.(http.Flusher).Flush()
		<-c.hang
	}
	fmt.Fprint(w, `"items":[]}`)
}

// protocols returns what the requests since the last call came over.
func (c *collection) protocols() (protos []string) {
	for _, r := range c.requests() {
		protos = append(protos, r.Proto)
	}
	return protos
}

func (c *collection) requests() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// config returns a configuration with a dialer, so that no other test shares its
// transports.
func (c *collection) config() *rest.Config {
	return &rest.Config{
		Host:            c.URL,
		TLSClientConfig: rest.TLSClientConfig{CAData: pemOf("CERTIFICATE", c.Certificate().Raw)},
		Dial:            new(net.Dialer).DialContext,
	}
}

func pemOf(kind string, b []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
}

// asker asks a collection and fails the test where that fails.
type asker struct {
	t      *testing.T
	client rest.Interface
	source engine.Source
}

func newAsker(t *testing.T, cfg *rest.Config, compression Compression) asker {
	client, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return asker{t, client, NewSource(client, Query{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Compression: compression})}
}

func (a asker) start(o engine.ListOptions) engine.ListStream {
	a.t.Helper()
	stream, err := a.source.List(a.t.Context(), o)
	if err != nil {
		a.t.Fatal(err)
	}
	return stream
}

func (a asker) finish(stream engine.ListStream) {
	a.t.Helper()
	if _, err := stream.Next(); err != io.EOF {
		a.t.Fatal(err)
	}
	stream.Close()
}

func (a asker) list(o engine.ListOptions) { a.t.Helper(); a.finish(a.start(o)) }

func (a asker) watch(o engine.WatchOptions) {
	a.t.Helper()
	stream, err := a.source.Watch(a.t.Context(), o)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := stream.Next(); err != io.EOF {
		a.t.Fatal(err)
	}
	stream.Close()
}

// transport returns all layers of the client's transport, and the split below them.
func (a asker) transport() (http.RoundTripper, *split) {
	outer := a.client.(*patientClient).Client.Transport
	for rt := outer; ; rt = rt.(utilnet.RoundTripperWrapper).WrappedRoundTripper() {
		if s, ok := rt.(*split); ok {
			return outer, s
		}
	}
}

func TestListsGoOverHTTP1(t *testing.T) {
	const one, two = "HTTP/1.1", "HTTP/2.0"
	for _, test := range []struct {
		name        string
		compression Compression
		change      func(*rest.Config)
		ask         func(asker)
		want        []string
	}{
		{name: "list", ask: func(a asker) { a.list(engine.ListOptions{}) }, want: []string{one}},
		{name: "pages", ask: func(a asker) { a.list(engine.ListOptions{Limit: 1}) }, want: []string{one, one, one}},
		{name: "probe", ask: func(a asker) { a.list(engine.ListOptions{Limit: 1, Probe: true}) }, want: []string{two}},
		{name: "watch", ask: func(a asker) { a.watch(engine.WatchOptions{}) }, want: []string{two}},
		{name: "watch list", ask: func(a asker) { a.watch(engine.WatchOptions{InitialEvents: true}) }, want: []string{two}},
		{
			name:   "list, dialed by ourselves",
			change: func(c *rest.Config) { c.Dial = nil },
			ask:    func(a asker) { a.list(engine.ListOptions{}) }, want: []string{one},
		},
		{
			name: "compressed list", compression: CompressAlways,
			ask: func(a asker) { a.list(engine.ListOptions{}) }, want: []string{two},
		},
		{
			name:   "protocols of the user's",
			change: func(c *rest.Config) { c.NextProtos = []string{"h2"} },
			ask:    func(a asker) { a.list(engine.ListOptions{}) }, want: []string{two},
		},
		{
			name: "transport of the user's", compression: CompressNever,
			change: func(c *rest.Config) {
				c.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				c.TLSClientConfig = rest.TLSClientConfig{}
			},
			ask: func(a asker) { a.list(engine.ListOptions{}) }, want: []string{two},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newCollection(t, nil)
			cfg := server.config()
			if test.change != nil {
				test.change(cfg)
			}
			test.ask(newAsker(t, cfg, test.compression))
			if got := server.protocols(); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestPagesShareAConnection(t *testing.T) {
	server := newCollection(t, nil)
	newAsker(t, server.config(), CompressFar).list(engine.ListOptions{Limit: 1})
	connections := map[string]bool{}
	for _, r := range server.requests() {
		connections[r.RemoteAddr] = true
	}
	if len(connections) != 1 {
		t.Errorf("%d connections", len(connections))
	}
}

// Whatever a configuration says of connections and requests holds for lists, too.
func TestListsAreConfiguredAsWatchesAre(t *testing.T) {
	server := newCollection(t, func(s *httptest.Server) { s.TLS.ClientAuth = tls.RequireAnyClientCert })
	cfg := server.config()
	cfg.CertFile, cfg.KeyFile = clientCertificate(t, server.TLS.Certificates[0])
	cfg.UserAgent, cfg.BearerToken = "me", "secret"
	cfg.Impersonate.UserName = "you"
	var wrapped, dialed atomic.Int32
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counting{rt, &wrapped} })
	cfg.Dial = dialer(&dialed)
	a := newAsker(t, cfg, CompressFar)
	a.list(engine.ListOptions{})
	a.watch(engine.WatchOptions{})
	asked := server.requests()
	if len(asked) != 2 || asked[0].ProtoMajor != 1 || asked[1].ProtoMajor != 2 {
		t.Fatalf("%d requests", len(asked))
	}
	for _, r := range asked {
		r.Header.Del("Accept-Encoding") // is another for lists
		if len(r.TLS.PeerCertificates) != 1 {
			t.Errorf("%s: no client certificate", r.Proto)
		}
	}
	if list, watch := asked[0].Header, asked[1].Header; !reflect.DeepEqual(list, watch) || list.Get("Impersonate-User") != "you" {
		t.Errorf("headers of a list %v, of a watch %v", list, watch)
	}
	if wrapped.Load() != 2 || dialed.Load() != 2 {
		t.Errorf("the wrapper saw %d requests, the dialer %d connections", wrapped.Load(), dialed.Load())
	}
}

func clientCertificate(t *testing.T, c tls.Certificate) (certFile, keyFile string) {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	for file, b := range map[string][]byte{certFile: pemOf("CERTIFICATE", c.Certificate[0]), keyFile: pemOf("PRIVATE KEY", key)} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// dialer counts the connections it makes.
func dialer(n *atomic.Int32) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		n.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// counting counts the requests that go through it.
type counting struct {
	http.RoundTripper
	n *atomic.Int32
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// A server without HTTP/1.1 is found out once.
func TestServersWithoutHTTP1(t *testing.T) {
	for name, change := range map[string]func(*httptest.Server){
		"refuses the handshake": func(s *httptest.Server) {
			s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				if slices.Contains(hello.SupportedProtos, "h2") {
					return nil, nil
				}
				c := s.TLS.Clone()
				c.NextProtos = []string{"another"} // Go would not refuse http/1.1 for h2
				return c, nil
			}
		},
		"hangs up": func(s *httptest.Server) {
			s.TLS.NextProtos = []string{"h2"}
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP2(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newCollection(t, change)
			cfg := server.config()
			var dialed atomic.Int32
			cfg.Dial = dialer(&dialed)
			a := newAsker(t, cfg, CompressFar)
			for range 3 {
				a.list(engine.ListOptions{Limit: 1})
			}
			if got := server.protocols(); len(got) != 9 || slices.Contains(got, "HTTP/1.1") {
				t.Error(got)
			}
			if dialed.Load() != 2 {
				t.Errorf("%d connections, want one that is refused and one that is not", dialed.Load())
			}
		})
	}
}

// What fails says nothing of HTTP/1.1 where the server could not be reached, or has
// spoken it before; that is for the reflector to try again.
func TestFailuresAreNoReasonForHTTP2(t *testing.T) {
	server := newCollection(t, nil)
	cfg := server.config()
	var fail error
	dialed := 0
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialed++; fail != nil {
			return nil, fail
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	a := newAsker(t, cfg, CompressFar)
	_, s := a.transport()
	for _, fail = range []error{&net.OpError{Op: "dial", Err: io.ErrUnexpectedEOF}, nil, io.ErrUnexpectedEOF, nil} {
		dialed = 0
		stream, err := a.source.List(t.Context(), engine.ListOptions{})
		if fail == nil && err == nil {
			a.finish(stream)
			utilnet.CloseIdleConnectionsFor(s.http1)
		}
		if !errors.Is(err, fail) || dialed != 1 {
			t.Errorf("%v: %v after %d connections", fail, err, dialed)
		}
	}
	if got := server.protocols(); !slices.Equal(got, []string{"HTTP/1.1", "HTTP/1.1"}) {
		t.Error(got)
	}
	if len(ownConnections) != 0 {
		t.Errorf("%d places are not given back", len(ownConnections))
	}
}

// Lists that hang take no connection from others.
func TestFewListsHaveTheirOwnConnection(t *testing.T) {
	server := newCollection(t, nil)
	server.hang = make(chan struct{})
	a := newAsker(t, server.config(), CompressFar)
	var hanging []engine.ListStream
	for range cap(ownConnections) + 1 {
		hanging = append(hanging, a.start(engine.ListOptions{}))
	}
	want := append(slices.Repeat([]string{"HTTP/1.1"}, cap(ownConnections)), "HTTP/2.0")
	if got := server.protocols(); !slices.Equal(got, want) {
		t.Error(got)
	}
	close(server.hang)
	for _, stream := range hanging {
		a.finish(stream)
	}
	a.list(engine.ListOptions{})
	if got := server.protocols(); !slices.Equal(got, want[:1]) {
		t.Errorf("after the lists: %v", got)
	}
	if len(ownConnections) != 0 {
		t.Errorf("%d places are not given back", len(ownConnections))
	}
}

func TestConnectionsOfListsAreClosed(t *testing.T) {
	server := newCollection(t, nil)
	a := newAsker(t, server.config(), CompressFar)
	outer, s := a.transport()
	if s.idle.Stop() {
		t.Error("closes connections before there are any")
	}
	a.list(engine.ListOptions{})
	a.watch(engine.WatchOptions{})
	asked := server.requests()
	list, watch := asked[0].RemoteAddr, asked[1].RemoteAddr
	if !s.idle.Reset(0) {
		t.Fatal("nothing would close the connection")
	}
	if got := server.nextClosed(t); got != list {
		t.Errorf("closed %s, want %s", got, list)
	}
	a.watch(engine.WatchOptions{})
	if got := server.requests()[0].RemoteAddr; got != watch {
		t.Error("the connection of watches was closed, too")
	}

	a.list(engine.ListOptions{})
	want := []string{server.requests()[0].RemoteAddr, watch}
	s.idle.Stop() // or it would do the work of what follows
	utilnet.CloseIdleConnectionsFor(outer)
	got := []string{server.nextClosed(t), server.nextClosed(t)}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("closed %v, want %v", got, want)
	}
}

func (c *collection) nextClosed(t *testing.T) string {
	select {
	case a := <-c.closed:
		return a.String()
	case <-time.After(30 * time.Second):
		t.Fatal("a connection stays open")
		return ""
	}
}
