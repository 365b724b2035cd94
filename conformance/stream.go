package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is a watch that is read as JSON, frame by frame, by the case itself.
type stream struct {
	e      *env
	header http.Header
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// event is one frame of a watch.
type event struct {
	kind   watch.EventType
	object *unstructured.Unstructured
	frame  []byte
}

// watch opens a watch; it returns when the server has accepted it.
func (e *env) watch(path string, query params) *stream {
	e.Helper()
	return e.watchAs(asJSON, path, query)
}

// watchAs opens a watch in a form whose frames are JSON.
func (e *env) watchAs(contentType, path string, query params) *stream {
	e.Helper()
	response, cancel := e.open(path, query, accept(contentType))
	return &stream{e: e, header: response.Header, lines: bufio.NewReader(response.Body), cancel: cancel}
}

// open starts a watch and returns its response with the body unread.
func (e *env) open(path string, query params, hs headers) (*http.Response, context.CancelFunc) {
	e.Helper()
	return e.openAs(e.admin, path, query, hs)
}

func (e *env) openAs(as *http.Client, path string, query params, hs headers) (*http.Response, context.CancelFunc) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	all := params{"watch": "true"}
	for name, value := range query {
		all[name] = value
	}
	r, err := e.newRequest(ctx, http.MethodGet, path, all, hs, nil)
	must(e, err, "making a watch request")
	response, err := as.Do(r)
	if err != nil {
		e.Fatalf("watching %s: %v", path, err)
	}
	e.Cleanup(func() {
		cancel()
		response.Body.Close()
	})
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		e.Fatalf("watching %s with %v answered %d %.500q", path, query, response.StatusCode, body)
	}
	return response, cancel
}

// next reads the next event.
func (s *stream) next() event {
	s.e.Helper()
	frame, err := s.lines.ReadBytes('\n')
	if err != nil {
		s.e.Fatalf("waiting for the next event of a watch: %v (after %q)", err, frame)
	}
	var content struct {
		Type   watch.EventType
		Object json.RawMessage
	}
	if err := json.Unmarshal(frame, &content); err != nil {
		s.e.Fatalf("decoding a watch event: %v: %.300q", err, frame)
	}
	return event{kind: content.Type, object: s.e.decode(content.Object), frame: bytes.TrimSpace(frame)}
}

// want reads the next event and checks its kind and its object's name.
func (s *stream) want(kind watch.EventType, name string) event {
	s.e.Helper()
	ev := s.next()
	if ev.kind != kind || ev.object.GetName() != name {
		s.e.Fatalf("the watch said %s, want %s of %q", ev.frame, kind, name)
	}
	return ev
}

// wantBookmark reads the next event, which must be a bookmark: a version, and
// nothing else of an object.
func (s *stream) wantBookmark() event {
	s.e.Helper()
	ev := s.want(watch.Bookmark, "")
	if ev.object.GetUID() != "" || ev.object.GetNamespace() != "" {
		s.e.Errorf("the bookmark %s has more than a version", ev.frame)
	}
	s.e.version(ev.object)
	return ev
}

// wantError reads the next event, which must be an error with code and reason,
// and the last.
func (s *stream) wantError(code int, reason metav1.StatusReason) *metav1.Status {
	s.e.Helper()
	ev := s.next()
	status := &metav1.Status{}
	must(s.e, fromUnstructured(ev.object, status), "decoding the Status of an ERROR event")
	if ev.kind != watch.Error || status.Kind != "Status" || int(status.Code) != code || status.Reason != reason {
		s.e.Fatalf("the watch said %s, want an ERROR with a Status of code %d, reason %q", ev.frame, code, reason)
	}
	s.wantEnd()
	return status
}

// wantEnd checks that the watch ends, cleanly and without a further event.
func (s *stream) wantEnd() {
	s.e.Helper()
	if rest, err := s.lines.ReadBytes('\n'); !errors.Is(err, io.EOF) || len(rest) > 0 {
		s.e.Fatalf("the watch went on with %.300q (error: %v), want its end", rest, err)
	}
}

// take reads n events.
func (s *stream) take(n int) []event {
	s.e.Helper()
	events := make([]event, 0, n)
	for range n {
		events = append(events, s.next())
	}
	return events
}

// stop ends the watch from the client's side.
func (s *stream) stop() { s.cancel() }

// wantEndAfterBookmarks checks that nothing but bookmarks comes before the end.
func (s *stream) wantEndAfterBookmarks() {
	s.e.Helper()
	for {
		if _, err := s.lines.Peek(1); errors.Is(err, io.EOF) {
			return
		}
		s.wantBookmark()
	}
}
