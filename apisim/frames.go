package apisim

import (
	"bufio"
	"net/http"
)

// frameWriter writes the frames of one watch and lets the faults of its
// request touch them.
type frameWriter struct {
	w      http.ResponseWriter
	buffer *bufio.Writer
	fault  effects
	count  int
}

func newFrameWriter(w http.ResponseWriter, r *request, media mediaType) *frameWriter {
	if media != mediaJSON {
		media += ";stream=watch"
	}
	w.Header().Set("Content-Type", string(media))
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	return &frameWriter{w: w, buffer: bufio.NewWriterSize(w, 32<<10), fault: r.effects}
}

// flush sends what is buffered. An error means that the client has gone.
func (f *frameWriter) flush() error {
	if f.buffer.Buffered() == 0 {
		return nil
	}
	if err := f.buffer.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(f.w).Flush()
}

func (f *frameWriter) event(frame []byte) error {
	if err := f.write(frame); err != nil || !f.fault.duplicateEvents {
		return err
	}
	return f.write(frame)
}

func (f *frameWriter) bookmark(frame []byte) error {
	if f.fault.dropBookmarks {
		return nil
	}
	return f.write(frame)
}

func (f *frameWriter) initialEnd(frame []byte) error {
	if f.fault.dropInitialEnd {
		return nil
	}
	return f.write(frame)
}

func (f *frameWriter) write(frame []byte) error {
	f.count++
	switch f.count {
	case f.fault.truncateFrame:
		_, _ = f.buffer.Write(frame[:len(frame)/2])
		_ = f.flush()
		return abortAnswer{errFault}
	case f.fault.garbleFrame:
		frame = garbled(frame)
	}
	if _, err := f.buffer.Write(frame); err != nil {
		return abortAnswer{err}
	}
	return nil
}
