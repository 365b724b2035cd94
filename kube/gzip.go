package kube

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gunzip decompresses a body if it is gzipped. Requesting gzip ourselves, instead of
// leaving it to net/http, lets us use a faster decoder: decompression is the largest
// part of reading a list.
func gunzip(body io.ReadCloser) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(body, readSize)
	start, err := buffered.Peek(2)
	if err != nil || start[0] != 0x1f || start[1] != 0x8b {
		// Not gzip, or too short to be: the reader reports what is wrong with it.
		return readCloser{buffered, body}, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		body.Close()
		return nil, err
	}
	return readCloser{z, body}, nil
}

// readSize is how much is read at once: each read costs a wake-up.
const readSize = 64 << 10

type readCloser struct {
	io.Reader
	io.Closer
}
