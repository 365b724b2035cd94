package wire

import (
	"errors"
	"io"
)

const (
	// smallBuffer is what a reader starts with, and goes back to: idle watches
	// are many.
	smallBuffer = 16 << 10
	// emptyReads is how often a source may return nothing in a row.
	emptyReads = 100
	// quietReads is how many reads in a row must leave the buffer nearly empty
	// before it shrinks.
	quietReads = 64
)

// source is the stream of a reader: a window of bytes that have arrived and
// are not consumed yet. Reads are as large as the buffer allows, for a wake-up costs
// more than bytes do. The buffer doubles while the stream keeps filling it, up to max,
// or when it is full with one thing that has not ended. So memory follows what
// has arrived.
type source struct {
	r          io.Reader
	buf        []byte
	start, end int   // the window is buf[start:end]
	offset     int64 // of the window in the stream
	err        error // of r; what is in the window came before it
	max        int
	filled     bool // the last read filled the buffer
	quiet      int  // reads in a row that used an eighth of the buffer or less
}

func newSource(r io.Reader, max int) source { return source{r: r, max: max} }

func (s *source) window() []byte { return s.buf[s.start:s.end] }

func (s *source) size() int { return s.end - s.start }

// arrived returns the number of bytes of the stream that have arrived.
func (s *source) arrived() int64 { return s.offset + int64(s.size()) }

// consume moves the window on. The bytes stay until the next call of more.
func (s *source) consume(n int) {
	s.start += n
	s.offset += int64(n)
}

// more adds at least one byte to the window, or returns the error of the source.
// It may move the window.
func (s *source) more() error {
	if s.err != nil {
		return s.err
	}
	s.makeRoom()
	for range emptyReads {
		room := s.buf[s.end:]
		n, err := s.r.Read(room)
		if n < 0 || n > len(room) {
			s.err = errors.New("the source returned an impossible count from Read")
			return s.err
		}
		s.end += n
		s.err = err
		s.filled = n == len(room)
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}

// makeRoom leaves at least half of the buffer free, if the window permits, by
// moving the window to the start, into a larger buffer or into a smaller one.
func (s *source) makeRoom() {
	want := len(s.buf)
	switch {
	case want == 0:
		want = min(smallBuffer, s.max)
	case s.size() == want:
		want *= 2
	case s.filled && want < s.max:
		want = min(want*2, s.max)
	case s.quietNow() && want > smallBuffer:
		want /= 2
	}
	s.filled = false
	if want != len(s.buf) {
		buf := make([]byte, want)
		s.end = copy(buf, s.window())
		s.start, s.buf, s.quiet = 0, buf, 0
		return
	}
	if s.start > 0 && (s.start == s.end || len(s.buf)-s.end < len(s.buf)/2) {
		s.end = copy(s.buf, s.window())
		s.start = 0
	}
}

// quietNow counts reads after which little was in the buffer, and reports whether
// there have been many.
func (s *source) quietNow() bool {
	if s.end > len(s.buf)/8 {
		s.quiet = 0
	} else {
		s.quiet++
	}
	return s.quiet >= quietReads
}

// need returns the next n bytes of the stream, without consuming them.
func (s *source) need(n int) ([]byte, error) {
	for s.size() < n {
		if err := s.more(); err != nil {
			return nil, err
		}
	}
	return s.buf[s.start : s.start+n], nil
}

// skipSpace consumes white space and returns the byte after it, without consuming it.
func (s *source) skipSpace() (byte, error) {
	for {
		if c := s.skipBuffered(); s.size() > 0 {
			return c, nil
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
}

// broken describes an error of the source inside what.
func (s *source) broken(what string, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &ReadError{What: what, Offset: s.arrived(), Err: err}
}

// skipBuffered consumes the white space at the start of the window and returns the
// byte after it, 0 if there is none in memory.
func (s *source) skipBuffered() byte {
	for s.start < s.end {
		if c := s.buf[s.start]; !isSpace(c) {
			return c
		}
		s.consume(1)
	}
	return 0
}

// frame consumes the JSON value at the start of the window and returns it. It goes
// on where f is, and leaves f at the end. A number must not be the end of the stream.
func (s *source) frame(f *framer, limit int64, what string) ([]byte, error) {
	for !f.scan(s.window()) {
		if int64(f.n) > limit {
			break
		}
		if err := s.more(); err != nil {
			return nil, s.broken("a "+what, err)
		}
	}
	if int64(f.n) > limit {
		return nil, &LimitError{What: what, Offset: s.offset, Size: int64(f.n), Limit: limit}
	}
	value := s.buf[s.start : s.start+f.n : s.start+f.n]
	s.consume(f.n)
	return value, nil
}
