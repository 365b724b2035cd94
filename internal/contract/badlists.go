package contract

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/kinform/kinform"
)

// badItem is a list in which one object is bad: the others are there, and it
// comes with its next state.
func badItem(edit func([]byte) []byte) func(*env) {
	return func(e *env) {
		s := newSick(e, kinform.Options{JSON: true})
		s.m.lists(once(isList), edit)
		s.wantVictimMissing()
		s.wantWell()
	}
}

// badItemProtobuf makes the length of the victim's name point out of the object.
func badItemProtobuf(e *env) {
	s := newSick(e, kinform.Options{})
	s.m.lists(once(isList), func(body []byte) []byte {
		name := []byte("\x0a\x06victim")
		if !bytes.Contains(body, name) {
			e.Errorf("the list does not have the victim as protobuf: %q", body)
		}
		return bytes.Replace(body, name, []byte("\x0a\x7fvictim"), 1)
	})
	s.wantVictimMissing()
	s.wantWell()
}

// wantVictimMissing fails unless the informer syncs with all but the victim.
func (s *sick) wantVictimMissing() {
	s.e.Helper()
	s.e.sync(s.inf)
	s.e.must(s.w.sub.WaitSynced(s.e.ctx), "waiting for the witness")
	s.e.wantRejected(s.inf, 1)
	want := s.e.onServer()
	delete(want, s.e.key("victim"))
	s.e.wantStore(s.inf, want)
}

// badList is a list of which nothing can be used: it is asked for again.
func badList(reason kinform.Reason, edit func([]byte) []byte) func(*env) {
	return func(e *env) {
		s := newSick(e, kinform.Options{JSON: true})
		s.m.lists(once(isList), edit)
		e.sync(s.inf)
		e.awaitFailure(0, reason)
		s.wantWell()
	}
}

// Edits of whole bodies.

func always(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }

func half(body []byte) []byte { return body[:len(body)/2] }

// noJSON breaks the data of the last object.
func noJSON(body []byte) []byte {
	i := bytes.LastIndex(body, []byte(`"data":{`))
	return append(bytes.Clone(body[:i]), bytes.Replace(body[i:], []byte(`{`), []byte(`{]`), 1)...)
}

// stopped sends some of a body, and then nothing, until its reader gives up.
type stopped struct {
	io.Reader
	ctx context.Context
}

func stopsAfter(n int64) func(*http.Response) io.Reader {
	return func(r *http.Response) io.Reader { return stopped{io.LimitReader(r.Body, n), r.Request.Context()} }
}

func (s stopped) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		<-s.ctx.Done()
		return n, s.ctx.Err()
	}
	return n, err
}

func stoppedList(e *env) {
	s := newSick(e, kinform.Options{Silence: silence})
	s.m.bodies(once(isList), stopsAfter(100))
	e.sync(s.inf)
	e.awaitFailure(0, kinform.ReasonStalled)
	s.w.receives(e.update("victim", "2"))
	e.wantStore(s.inf, e.onServer())
}

// endless is a body that goes on and on with one letter after its start.
type endless struct {
	start io.Reader
	read  atomic.Int64
}

func (b *endless) Read(p []byte) (int, error) {
	n, err := b.start.Read(p)
	if err == io.EOF {
		n = copy(p, bytes.Repeat([]byte{'a'}, len(p)))
	}
	b.read.Add(int64(n))
	return n, nil
}

// endlessBody is the answer to the first request that fits.
func (s *sick) endlessBody(fits func(*http.Request) bool, start string) *endless {
	b := &endless{start: strings.NewReader(start)}
	s.m.bodies(once(fits), func(*http.Response) io.Reader { return b })
	return b
}

// wantBounded fails if an endless body was read for long.
func (s *sick) wantBounded(b *endless) {
	s.e.Helper()
	failure := s.e.awaitFailure(0, kinform.ReasonGarbled)
	if !strings.Contains(failure.values["error"], "limit") {
		s.e.Errorf("the failure is %v, want a word of the limit", failure)
	}
	if n := b.read.Load(); n > 1<<20 {
		s.e.Errorf("%d bytes were read of one object", n)
	}
}

func endlessList(e *env) {
	s := newSick(e, kinform.Options{JSON: true, MaxObjectSize: 64 << 10})
	b := s.endlessBody(isList, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"`)
	e.sync(s.inf)
	s.wantBounded(b)
	s.wantWell()
}
