package apisim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Options configure a server. The zero value works.
type Options struct {
	// Addr is the TCP address to listen on. Default 127.0.0.1:0, a free port.
	Addr string

	// History is how many events each resource keeps for watches that start
	// in the past, for lists of an exact version and for continue tokens.
	// Older versions are answered with 410. Default 10,000.
	History int

	// BookmarkInterval is the time between two bookmarks of a watch that
	// asked for them. Default one minute.
	BookmarkInterval time.Duration

	// TLS serves HTTPS with a certificate made for this server, and with it
	// HTTP/2. Default plain HTTP/1.1.
	TLS bool

	// InMemory serves connections inside the process instead of a port:
	// Config has the Dial that reaches them. Nothing waits on the network
	// then, so server and clients can live in a bubble of testing/synctest.
	// Default: Addr.
	InMemory bool

	// HTTP1 keeps a server with TLS from offering HTTP/2. Default: it does.
	HTTP1 bool

	// ManagedFields keeps metadata.managedFields, as a real server does, but with
	// lists owned as a whole. Default: objects have none, which makes writes cheaper.
	// Set it for clients that want to know who wrote what.
	ManagedFields bool

	// Front stands between the connections and the server, as a proxy does:
	// it gets every request first. Package front has some. Default: none.
	Front func(server http.Handler) http.Handler

	// Log gets panics and failed connections. Default: nothing is logged.
	Log *slog.Logger
}

// Server is a running API server. Its methods are safe for concurrent use.
type Server struct {
	options Options
	url     string
	caData  []byte
	memory  *memoryListener // nil: it listens on a port
	store   *store
	faults  faults

	http        *http.Server
	connections connections
	serving     sync.WaitGroup // the accept loop and every connection
	requests    requests
	closing     sync.Once
}

// Start listens and serves until Close.
func Start(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.History <= 0 {
		o.History = 10_000
	}
	if o.BookmarkInterval <= 0 {
		o.BookmarkInterval = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, store: newStore(o.History)}
	if err := s.store.begin(); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) listen() error {
	base, err := s.listenBase()
	if err != nil {
		return fmt.Errorf("apisim: listen on %s: %w", s.options.Addr, err)
	}
	var l net.Listener = listener{Listener: base, connections: &s.connections}
	s.url = "http://" + base.Addr().String()
	s.http = &http.Server{
		Handler:           s.front(),
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelWarn),
		ConnState:         s.countConnection,
		ReadHeaderTimeout: time.Minute,
	}
	if s.options.TLS {
		if s.http.TLSConfig, s.caData, err = selfSigned(base.Addr()); err != nil {
			_ = base.Close()
			return fmt.Errorf("apisim: make a certificate: %w", err)
		}
		if s.options.HTTP1 {
			s.http.TLSConfig.NextProtos = []string{"http/1.1"}
			s.http.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		}
		s.url = "https://" + base.Addr().String()
	}
	s.serving.Go(func() {
		if s.options.TLS {
			err = s.http.ServeTLS(l, "", "")
		} else {
			err = s.http.Serve(l)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			s.options.Log.Error("the server stopped accepting", "addr", s.options.Addr, "err", err)
		}
	})
	return nil
}

// listenBase returns the listener that the options ask for.
func (s *Server) listenBase() (net.Listener, error) {
	if s.options.InMemory {
		s.memory = listenInMemory()
		return s.memory, nil
	}
	return net.Listen("tcp", s.options.Addr)
}

// front is what answers requests.
func (s *Server) front() http.Handler {
	if s.options.Front == nil {
		return s
	}
	return s.options.Front(s)
}

// countConnection runs in the accept loop for a new connection and at the end
// of the connection's goroutine.
func (s *Server) countConnection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.serving.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.serving.Done()
	}
}

// Config returns what a client needs to connect, without a rate limit.
// Each call returns a new copy.
func (s *Server) Config() *rest.Config {
	cfg := &rest.Config{
		Host:            s.url,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.caData},
	}
	if s.memory != nil {
		cfg.Dial = s.memory.dial
	}
	return cfg
}

// URL is the address of the server, such as http://127.0.0.1:41234.
func (s *Server) URL() string { return s.url }

// Close cuts all connections and returns when every goroutine of the server
// has ended. A second Close does nothing.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		err = s.http.Close()
		s.connections.cut()
		s.serving.Wait()
		s.requests.wait()
	})
	return err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	if !s.requests.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.requests.end()
	w = &answer{ResponseWriter: w}
	defer s.recovered(w.(*answer), h)

	r, isResource := parseRequest(h)
	if hit := s.faults.apply(r, isResource); len(hit) > 0 {
		if w = s.suffer(w, r, hit); w == nil {
			return
		}
	}
	if !isResource {
		s.serveOther(w, h)
		return
	}
	if err := s.serveResource(w, r); err != nil {
		s.refuse(w, h, err)
	}
}

func (s *Server) refuse(w http.ResponseWriter, h *http.Request, err error) {
	if _, begun := err.(abortAnswer); begun {
		panic(http.ErrAbortHandler)
	}
	writeError(w, h, err)
}

// recovered turns a panic into an answer of 500, or, if the answer has begun,
// into a cut connection.
func (s *Server) recovered(w *answer, h *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	s.options.Log.Error("panic while serving", "method", h.Method, "url", h.URL.String(), "panic", cause)
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	writeError(w, h, apierrors.NewInternalError(fmt.Errorf("panic: %v", cause)))
}

// answer knows whether the answer has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(code int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(p []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(p)
}

// requests counts the requests that are being served, so that Close can wait
// for them.
type requests struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{}
}

func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.n++
	return true
}

func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n--; r.n == 0 && r.closed {
		close(r.idle)
	}
}

func (r *requests) wait() {
	r.mu.Lock()
	r.closed, r.idle = true, make(chan struct{})
	if r.n == 0 {
		close(r.idle)
	}
	r.mu.Unlock()
	<-r.idle
}

// serveResource answers requests for objects and collections.
func (s *Server) serveResource(w http.ResponseWriter, r *request) error {
	res, known := s.store.lookup(r.gvr())
	if !known {
		if ok, err := s.serveReview(w, r); ok {
			return err
		}
		if s.store.hasVersion(r.gvr().GroupVersion()) {
			return errNoRoute()
		}
		notFound(w)
		return nil
	}
	r.served = res
	if !r.fits(res) {
		return errNoRoute()
	}
	if r.overall(res) {
		if res.custom != nil {
			notFound(w)
			return nil
		}
		return errNoMethod()
	}
	if r.subresource != "" {
		return s.serveSubresource(w, r)
	}
	switch r.verb {
	case "get":
		return s.handleGet(w, r)
	case "list":
		return s.handleList(w, r)
	case "watch":
		return s.handleWatch(w, r)
	case "create":
		return s.handleCreate(w, r)
	case "update":
		return s.handleUpdate(w, r)
	case "patch":
		return s.handlePatch(w, r)
	case "delete":
		return s.handleDelete(w, r)
	case "deletecollection":
		return s.handleDeleteCollection(w, r)
	}
	return errNoMethod()
}

func notFound(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "404 page not found\n")
}

// ResourceVersion is the version of the latest change.
func (s *Server) ResourceVersion() uint64 {
	return s.store.waitFor(context.Background(), 0, 0)
}
