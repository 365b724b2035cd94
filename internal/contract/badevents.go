package contract

import (
	"bytes"
	"io"
	"net/http"

	"github.com/kinform/kinform"
)

// badFrames edits the first n events that tell of the victim's value "bad".
func (s *sick) badFrames(n int, edit func([]byte) []byte) {
	s.m.frames(isWatch, func(frame []byte) []byte {
		if !bytes.Contains(frame, []byte(`"value":"bad"`)) || n == 0 {
			return frame
		}
		n--
		return edit(frame)
	})
}

// badEvent is an event that cannot be used, n times: the watch is resumed, and
// where that does not help, a list gets past it.
func badEvent(n int, edit func([]byte) []byte) func(*env) {
	return func(e *env) {
		s := newSick(e, kinform.Options{JSON: true})
		s.badFrames(n, edit)
		s.sync()
		from := e.log.mark()
		bad := e.update("victim", "bad")
		e.awaitFailure(from, kinform.ReasonGarbled)
		s.w.receives(bad)
		s.wantWell()
	}
}

// badWatch is a watch whose answer is none.
func badWatch(body string) func(*env) {
	return func(e *env) {
		s := newSick(e, kinform.Options{JSON: true})
		s.m.before(once(isWatch), func(*http.Request) *http.Response { return answer(http.StatusOK, "text/html", body) })
		e.sync(s.inf)
		e.awaitFailure(0, kinform.ReasonGarbled)
		s.wantWell()
	}
}

// cutEvent is a watch that ends inside its first event.
func cutEvent(o kinform.Options) func(*env) {
	return func(e *env) {
		s := newSick(e, o)
		s.m.bodies(once(isWatch), func(r *http.Response) io.Reader { return io.LimitReader(r.Body, 30) })
		e.sync(s.inf)
		bad := e.update("victim", "bad")
		e.awaitFailure(0, kinform.ReasonDisconnected)
		s.w.receives(bad)
		s.wantWell()
	}
}

func stoppedEvent(e *env) {
	s := newSick(e, kinform.Options{Silence: silence})
	s.m.bodies(once(isWatch), stopsAfter(30))
	e.sync(s.inf)
	s.w.receives(e.update("victim", "bad")) // after a while
	e.wantStore(s.inf, e.onServer())
}

func endlessEvent(e *env) {
	s := newSick(e, kinform.Options{JSON: true, MaxObjectSize: 64 << 10})
	b := s.endlessBody(isWatch, `{"type":"MODIFIED","object":{"metadata":{"name":"`)
	e.sync(s.inf)
	s.wantBounded(b)
	s.wantWell()
}

func hugeEvent(e *env) {
	s := newSick(e, kinform.Options{})
	b := s.endlessBody(isWatch, "\x07\xff\xff\xff")
	e.sync(s.inf)
	s.wantBounded(b)
	s.wantWell()
}
