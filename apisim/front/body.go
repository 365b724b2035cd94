package front

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// flush sends what was written. What cannot be flushed is sent at the end.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// BufferWatches holds the events of watches back until so many bytes have come
// together, as proxies do that are not configured to stream. With 0, nothing comes
// before the watch ends.
func BufferWatches(bytes int) Layer {
	return watches(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		b := &bufferedBody{ResponseWriter: w, limit: bytes}
		next.ServeHTTP(b, r)
		_, _ = w.Write(b.held) // whoever has gone needs nothing more
	})
}

type bufferedBody struct {
	http.ResponseWriter
	limit int
	held  []byte
}

func (b *bufferedBody) Write(p []byte) (int, error) {
	b.held = append(b.held, p...)
	for b.limit > 0 && len(b.held) >= b.limit {
		if _, err := b.ResponseWriter.Write(b.held[:b.limit]); err != nil {
			return 0, err
		}
		b.held = b.held[b.limit:]
		flush(b.ResponseWriter)
	}
	return len(p), nil
}

// FlushError sends the head and nothing that is held back.
func (b *bufferedBody) FlushError() error {
	flush(b.ResponseWriter)
	return nil
}

// DelayWatches passes on what a watch sends with a delay. The head of the
// answer comes at once.
func DelayWatches(by time.Duration) Layer {
	return watches(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		d := &delayedBody{ResponseWriter: w, by: by, ctx: ctx, queue: make(chan piece, 4096)}
		var sending sync.WaitGroup
		sending.Go(d.send)
		defer sending.Wait()
		defer close(d.queue)
		defer func() {
			if p := recover(); p != nil { // the answer is broken off; so is what is under way
				cancel()
				panic(p)
			}
		}()
		next.ServeHTTP(d, r)
	})
}

// piece is a part of an answer that is under way.
type piece struct {
	data []byte
	due  time.Time
}

type delayedBody struct {
	http.ResponseWriter
	by    time.Duration
	ctx   context.Context
	queue chan piece

	mu sync.Mutex // guards ResponseWriter
}

func (d *delayedBody) Write(p []byte) (int, error) {
	select {
	case d.queue <- piece{append([]byte(nil), p...), time.Now().Add(d.by)}:
		return len(p), nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func (d *delayedBody) WriteHeader(code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ResponseWriter.WriteHeader(code)
	flush(d.ResponseWriter)
}

func (d *delayedBody) FlushError() error { return nil }

// send passes the pieces on when they are due.
func (d *delayedBody) send() {
	for p := range d.queue {
		t := time.NewTimer(time.Until(p.due))
		select {
		case <-t.C:
		case <-d.ctx.Done():
			t.Stop()
			continue
		}
		d.mu.Lock()
		_, _ = d.ResponseWriter.Write(p.data) // whoever has gone needs nothing more
		flush(d.ResponseWriter)
		d.mu.Unlock()
	}
}

// Rechunk sends every answer in pieces of so many bytes: no piece is a whole
// object, event or frame.
func Rechunk(bytes int) Layer {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&rechunkedBody{w, bytes}, r)
		})
	}
}

type rechunkedBody struct {
	http.ResponseWriter
	bytes int
}

func (c *rechunkedBody) WriteHeader(code int) {
	c.Header().Del("Content-Length")
	c.ResponseWriter.WriteHeader(code)
}

func (c *rechunkedBody) FlushError() error {
	return http.NewResponseController(c.ResponseWriter).Flush()
}

func (c *rechunkedBody) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var m int
		m, err = c.ResponseWriter.Write(p[:min(c.bytes, len(p))])
		n, p = n+m, p[m:]
		flush(c.ResponseWriter)
	}
	return n, err
}

// Gzip compresses every answer, watches included, for clients that accept it,
// whatever the server does.
func Gzip() Layer {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				next.ServeHTTP(w, r)
				return
			}
			plain := r.Clone(r.Context())
			plain.Header.Set("Accept-Encoding", "identity")
			z := &zippedBody{ResponseWriter: w, zip: gzip.NewWriter(w)}
			next.ServeHTTP(z, plain)
			z.begin(http.StatusOK)
			_ = z.zip.Close() // whoever has gone needs nothing more
		})
	}
}

type zippedBody struct {
	http.ResponseWriter
	zip   *gzip.Writer
	begun bool
}

func (z *zippedBody) begin(code int) {
	if z.begun {
		return
	}
	z.begun = true
	z.Header().Set("Content-Encoding", "gzip")
	z.Header().Del("Content-Length")
	z.ResponseWriter.WriteHeader(code)
}

func (z *zippedBody) WriteHeader(code int) { z.begin(code) }

func (z *zippedBody) Write(p []byte) (int, error) {
	z.begin(http.StatusOK)
	return z.zip.Write(p)
}

func (z *zippedBody) FlushError() error {
	if err := z.zip.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(z.ResponseWriter).Flush()
}
