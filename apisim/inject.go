package apisim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errFault ends an answer that a fault has spoiled.
var errFault = errors.New("a fault was injected")

// abortAnswer is an error after the answer has begun: the connection is
// closed, so that the client cannot take the part for the whole.
type abortAnswer struct{ error }

// faults are the injected faults, in the order of their injection.
type faults struct {
	mu     sync.Mutex
	active []*activeFault
}

type activeFault struct {
	Fault
	seen, applied int
	removed       chan struct{}
}

// effects are what faults do to an answer that is otherwise right.
type effects struct {
	cutAfter, hangAfter           int64
	truncateFrame, garbleFrame    int
	dropBookmarks, dropInitialEnd bool
	duplicateEvents               bool
	released                      <-chan struct{} // ends a hang
}

// Inject applies a fault to matching requests until it has been applied
// Times times or is removed. Removing it ends the requests that wait or hang
// in it: their connections are cut.
func (s *Server) Inject(f Fault) (remove func()) {
	a := &activeFault{Fault: f, removed: make(chan struct{})}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.active = append(s.faults.active, a)
	return sync.OnceFunc(func() {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		s.faults.active = slices.DeleteFunc(s.faults.active, func(other *activeFault) bool { return other == a })
		close(a.removed)
	})
}

// apply returns the faults that hit a request, each counted as applied.
func (f *faults) apply(r *request, isResource bool) []*activeFault {
	f.mu.Lock()
	active := slices.Clone(f.active)
	f.mu.Unlock()
	// Asked without the lock: a Func may inject and remove faults.
	hit := slices.DeleteFunc(active, func(a *activeFault) bool { return !a.Match.matches(r, isResource) })
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(hit, func(a *activeFault) bool { return !a.countLocked() })
}

// countLocked counts a matching request and reports whether the fault applies.
func (a *activeFault) countLocked() bool {
	if a.Times > 0 && a.applied >= a.Times {
		return false
	}
	if a.seen++; a.seen <= a.After {
		return false
	}
	a.applied++
	return true
}

func (m *Match) matches(r *request, isResource bool) bool {
	if m.Verb != "" || m.Group != "" || m.Resource != "" || m.Namespace != "" {
		if !isResource {
			return false
		}
	}
	if m.Verb != "" && m.Verb != r.verb {
		return false
	}
	if m.Group != "" && m.Group != cmp.Or(r.group, "core") {
		return false
	}
	if name, sub, only := strings.Cut(m.Resource, "/"); m.Resource != "" && (name != r.resource || only && sub != r.subresource) {
		return false
	}
	if m.Namespace != "" && m.Namespace != r.namespace {
		return false
	}
	if !strings.HasPrefix(r.http.URL.Path, m.Path) {
		return false
	}
	return m.Func == nil || m.Func(r.http)
}

// suffer applies the faults of a request. It returns the writer for the
// answer, or nil if the request is already answered.
func (s *Server) suffer(w http.ResponseWriter, r *request, hit []*activeFault) http.ResponseWriter {
	for _, a := range hit {
		if a.Delay > 0 && !a.wait(r.http.Context(), a.Delay) {
			panic(http.ErrAbortHandler)
		}
		switch {
		case a.Hang:
			a.hang(r.http.Context())
		case a.Reset:
			panic(http.ErrAbortHandler)
		case a.Status != 0:
			a.answer(w, r.http)
			return nil
		}
		r.effects.add(a)
	}
	if r.effects.cutAfter > 0 || r.effects.hangAfter > 0 {
		return &faultyWriter{ResponseWriter: w, effects: r.effects, request: r.http}
	}
	return w
}

// wait returns true when the time is over, false if the request or the fault
// ended before.
func (a *activeFault) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.removed:
	case <-ctx.Done():
	}
	return false
}

func (a *activeFault) hang(ctx context.Context) {
	select {
	case <-a.removed:
	case <-ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

func (a *activeFault) answer(w http.ResponseWriter, h *http.Request) {
	seconds := int(a.RetryAfter.Round(time.Second) / time.Second)
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if a.Body != "" {
		w.Header().Set("Content-Type", cmp.Or(a.ContentType, "text/html"))
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
		return
	}
	err := apierrors.NewGenericServerResponse(a.Status, strings.ToLower(h.Method), schema.GroupResource{}, "",
		fmt.Sprintf("injected fault: status %d", a.Status), seconds, true)
	writeStatus(w, h, a.Status, toStatus(err))
}

func (e *effects) add(a *activeFault) {
	e.cutAfter = cmp.Or(e.cutAfter, a.CutAfterBytes)
	if e.hangAfter == 0 && a.HangAfterBytes > 0 {
		e.hangAfter, e.released = a.HangAfterBytes, a.removed
	}
	e.truncateFrame = cmp.Or(e.truncateFrame, a.TruncateFrame)
	e.garbleFrame = cmp.Or(e.garbleFrame, a.GarbleFrame)
	e.dropBookmarks = e.dropBookmarks || a.DropBookmarks
	e.dropInitialEnd = e.dropInitialEnd || a.DropInitialEventsEndBookmark
	e.duplicateEvents = e.duplicateEvents || a.DuplicateEvents
}

// faultyWriter lets so many bytes of the body pass and then cuts or hangs.
type faultyWriter struct {
	http.ResponseWriter
	effects effects
	request *http.Request
	written int64
}

func (f *faultyWriter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *faultyWriter) Write(p []byte) (int, error) {
	left := cmp.Or(f.effects.cutAfter, f.effects.hangAfter) - f.written
	if int64(len(p)) < left {
		n, err := f.ResponseWriter.Write(p)
		f.written += int64(n)
		return n, err
	}
	_, _ = f.ResponseWriter.Write(p[:left])
	_ = http.NewResponseController(f.ResponseWriter).Flush()
	if f.effects.cutAfter == 0 {
		select {
		case <-f.effects.released:
		case <-f.request.Context().Done():
		}
	}
	panic(http.ErrAbortHandler)
}

// garbled returns a copy of a frame with its content spoiled: no decoder
// takes it, but the length prefix of a protobuf frame stays.
func garbled(frame []byte) []byte {
	out := slices.Clone(frame)
	for i := min(4, len(out)); i < len(out); i++ {
		if out[i] != '\n' {
			out[i] ^= 0x80
		}
	}
	return out
}
