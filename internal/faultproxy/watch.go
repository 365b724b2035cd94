package faultproxy

import (
	"context"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/wire"
)

// watch passes the events of a watch on, and does this and that to them on the way,
// until its end comes.
func (x *exchange) watch(response *http.Response) {
	x.head(response)
	f := newFrames(response.Body, response.Header.Get("Content-Type"))
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	in := make(chan *frame, 64)
	ended := make(chan error, 1)
	x.proxy.open.Add(1)
	go func() {
		defer x.proxy.open.Done()
		ended <- read(ctx, f, in)
	}()
	s := &stream{exchange: x, frames: f, in: in, ended: ended}
	// So many frames and so much time until something happens to the watch itself.
	life := time.Duration(x.rng.ExpFloat64() * float64(x.proxy.options.WatchLife))
	s.end = time.NewTimer(life)
	defer s.end.Stop()
	s.withhold = x.class == classWatchList && x.wanted(NoInitialEnd) && x.suffers(2.5*x.proxy.options.Requests)
	for s.step() {
	}
}

// read hands on the frames of a watch until it ends.
func read(ctx context.Context, f *frames, in chan<- *frame) error {
	for {
		fr, err := f.next()
		if err != nil {
			return err
		}
		select {
		case in <- fr:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stream is a watch under way.
type stream struct {
	*exchange
	frames *frames
	in     <-chan *frame
	ended  <-chan error
	end    *time.Timer // of this watch

	withhold bool     // the bookmark that ends the initial events never comes
	past     []*frame // some of the last events
	last     *frame   // the last frame of all
	highest  uint64   // the highest version sent
}

// remembered is how many events may come again.
const remembered = 64

// step waits for the next thing to happen; false: the watch has ended in peace.
func (s *stream) step() bool {
	select {
	case fr := <-s.in:
		s.pass(fr)
	case <-s.end.C:
		if kind, some := s.choose(watchEnd); some && !s.proxy.calm.Load() {
			s.finish(kind)
			return false
		}
		s.end.Reset(s.proxy.options.WatchLife)
	case <-s.ended:
		for len(s.in) > 0 {
			s.pass(<-s.in)
		}
		if s.rng.IntN(2) == 0 {
			s.abort()
		}
		return false
	case <-s.ctx.Done():
		s.abort()
	}
	return true
}

// pass sends a frame, changed or not.
func (s *stream) pass(fr *frame) {
	switch {
	case fr.initialEnd && s.withhold:
		s.count(NoInitialEnd)
		return
	case fr.event == wire.Bookmark && !fr.initialEnd && s.wanted(NoBookmark) && s.suffers(0.5):
		s.count(NoBookmark)
		return
	}
	kind, some := s.choose(watchEvent)
	if some && fr.isData() && s.class == classWatch && s.suffers(s.proxy.options.Events) {
		s.twist(kind, fr)
	} else {
		s.send(fr.bytes)
	}
	s.note(fr)
}

func (s *stream) note(fr *frame) {
	s.last = fr
	s.highest = max(s.highest, fr.version)
	if !fr.isData() {
		return
	}
	if len(s.past) < remembered {
		s.past = append(s.past, fr)
	} else {
		s.past[s.rng.IntN(remembered)] = fr
	}
}

// twist sends a frame with a fault that the watch survives.
func (s *stream) twist(kind Kind, fr *frame) {
	switch {
	case kind == Stale && len(s.past) == 0:
		kind = Duplicated // there is nothing older yet
	case kind == Reordered:
		s.swap(fr)
		return
	}
	s.count(kind)
	switch kind {
	case Pause:
		if !s.wait(s.upTo(100 * time.Millisecond)) {
			s.abort()
		}
	case Dribble:
		for i := range min(len(fr.bytes)-1, 40) {
			s.send(fr.bytes[i : i+1])
		}
		s.send(fr.bytes[min(len(fr.bytes)-1, 40):])
		return
	case Duplicated:
		s.send(fr.bytes)
	case Stale:
		s.send(s.past[s.rng.IntN(len(s.past))].bytes)
	}
	s.send(fr.bytes)
}

// swap has a frame change places with the next one, if that comes soon and is about
// another object. Both leave in one piece.
func (s *stream) swap(first *frame) {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	var second *frame
	select {
	case second = <-s.in:
	case <-t.C:
	case <-s.ctx.Done():
	}
	if second == nil {
		s.send(first.bytes)
		return
	}
	if second.isData() && first.isData() && second.key != first.key {
		s.count(Reordered)
		if c := connOf(s.r.Context()); c != nil {
			c.keepWhole()
		}
		s.send(append(append([]byte(nil), second.bytes...), first.bytes...))
		s.note(second)
		return
	}
	s.send(first.bytes)
	s.pass(second)
}

func (s *stream) send(b []byte) {
	if _, err := s.w.Write(b); err != nil {
		s.abort()
	}
	s.flush()
}

// finish does the last thing to the watch, which then ends.
func (s *stream) finish(kind Kind) {
	like := s.last
	if like == nil && (kind == Truncated || kind == Garbled || kind == BackBookmark) || kind == BackBookmark && s.highest < 2 {
		kind = CutWatch // they need something to be made of
	}
	s.count(kind)
	switch kind {
	case CutWatch:
		s.cutWatch()
	case StuckWatch:
		s.hang()
	case Dropped:
		s.dropSoon()
		if !s.wait(time.Second) {
			s.abort()
		}
	case GoneEvent:
		s.sendMade(s.frames.failure(http.StatusGone, metav1.StatusReasonExpired))
	case ErrorEvent:
		code, reason := http.StatusInternalServerError, metav1.StatusReasonInternalError
		if s.rng.IntN(2) == 0 {
			code, reason = http.StatusGatewayTimeout, metav1.StatusReasonTimeout
		}
		s.sendMade(s.frames.failure(code, reason))
	case Truncated:
		s.send(like.bytes[:1+s.rng.IntN(len(like.bytes)-1)])
	case Garbled:
		s.send(s.frames.noise(like))
	case Oversized:
		s.oversized()
	case BackBookmark:
		s.sendMade(s.frames.bookmark(like, 1+s.rng.Uint64N(s.highest-1)))
	}
}

// cutWatch breaks the watch, inside an event if one comes along.
func (s *stream) cutWatch() {
	select {
	case fr := <-s.in:
		s.send(fr.bytes[:s.rng.IntN(len(fr.bytes))])
	case <-time.After(10 * time.Millisecond):
	case <-s.ctx.Done():
	}
	s.abort()
}

// sendMade sends a frame that the proxy has made.
func (s *stream) sendMade(b []byte, err error) {
	if err != nil {
		s.abort()
	}
	s.send(b)
}

// oversized sends the beginning of a frame that does not end, until the client has
// seen enough.
func (s *stream) oversized() {
	s.send(s.frames.endless())
	filler := make([]byte, 32<<10)
	for i := range filler {
		filler[i] = 'a'
	}
	const most = 1 << 20
	for range most / len(filler) {
		s.send(filler)
	}
}
