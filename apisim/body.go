package apisim

import (
	"bufio"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipThreshold is the size from which answers are compressed for clients
// that ask for it.
const gzipThreshold = 128 << 10

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// bodyWriter writes an answer of unknown length: it holds back the first part
// of the body until it is known whether to compress it.
type bodyWriter struct {
	w       http.ResponseWriter
	code    int
	gzip    bool // the client accepts it
	held    []byte
	started bool
	zip     *gzip.Writer
	buffer  *bufio.Writer
}

func newBody(w http.ResponseWriter, h *http.Request, code int, media mediaType) *bodyWriter {
	w.Header().Set("Content-Type", string(media))
	w.Header().Set("Cache-Control", "no-cache, private")
	return &bodyWriter{w: w, code: code, gzip: acceptsGzip(h)}
}

func acceptsGzip(h *http.Request) bool {
	for token := range strings.SplitSeq(h.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(token) == "gzip" {
			return true
		}
	}
	return false
}

func (b *bodyWriter) Write(p []byte) (int, error) {
	if b.started {
		return b.write(p)
	}
	if b.gzip && len(b.held)+len(p) <= gzipThreshold {
		b.held = append(b.held, p...)
		return len(p), nil
	}
	if err := b.start(); err != nil {
		return 0, err
	}
	return b.write(p)
}

func (b *bodyWriter) write(p []byte) (int, error) {
	if b.zip != nil {
		return b.zip.Write(p)
	}
	return b.buffer.Write(p)
}

func (b *bodyWriter) start() error {
	b.started = true
	if b.gzip {
		b.w.Header().Set("Content-Encoding", "gzip")
		b.w.Header().Add("Vary", "Accept-Encoding")
		b.zip = gzipWriters.Get().(*gzip.Writer)
		b.buffer = bufio.NewWriterSize(b.w, 64<<10)
		b.zip.Reset(b.buffer)
	} else {
		b.buffer = bufio.NewWriterSize(b.w, 64<<10)
	}
	b.w.WriteHeader(b.code)
	held := b.held
	b.held = nil
	_, err := b.write(held)
	return err
}

// Close writes what is held back.
func (b *bodyWriter) Close() error {
	if !b.started {
		b.w.WriteHeader(b.code)
		_, err := b.w.Write(b.held)
		return err
	}
	if b.zip != nil {
		err := b.zip.Close()
		b.zip.Reset(nil)
		gzipWriters.Put(b.zip)
		b.zip = nil
		if err != nil {
			return err
		}
	}
	return b.buffer.Flush()
}

// writeObject answers with one encoded object.
func writeObject(w http.ResponseWriter, h *http.Request, code int, media mediaType, data []byte) {
	body := newBody(w, h, code, media)
	if _, err := body.Write(data); err != nil {
		return // the client has gone
	}
	_ = body.Close()
}
