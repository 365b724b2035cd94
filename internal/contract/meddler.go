package contract

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// meddler stands between an informer and its server, above TLS: it can answer in
// the server's place, and edit what the server answers.
type meddler struct {
	bell
	e        *env
	requests int
	rules    []*rule
}

// rule is one thing that a meddler does to the requests that fit.
type rule struct {
	fits   func(*http.Request) bool
	before func(*http.Request) *http.Response // nil: the server is asked after all
	after  func(*http.Response)
}

// meddle puts a meddler into a configuration.
func (e *env) meddle(cfg *rest.Config) *meddler {
	m := &meddler{e: e}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return m.roundTrip(next, r) })
	})
	return m
}

func (m *meddler) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	var rules []*rule
	m.change(func() {
		m.requests++
		for _, ru := range m.rules {
			if ru.fits(r) {
				rules = append(rules, ru)
			}
		}
	})
	for _, ru := range rules {
		if ru.before != nil {
			if response := ru.before(r); response != nil {
				return response, nil
			}
		}
	}
	response, err := next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	for _, ru := range rules {
		if ru.after != nil {
			ru.after(response)
		}
	}
	return response, nil
}

func (m *meddler) add(ru *rule) { m.change(func() { m.rules = append(m.rules, ru) }) }

// before has f asked first; what it returns is the answer, unless it is nil.
func (m *meddler) before(fits func(*http.Request) bool, f func(*http.Request) *http.Response) {
	m.add(&rule{fits: fits, before: f})
}

// lists edits the bodies of lists.
func (m *meddler) lists(fits func(*http.Request) bool, edit func(body []byte) []byte) {
	m.add(&rule{fits: fits, after: func(r *http.Response) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			m.e.Errorf("reading a list in order to edit it: %v", err)
		}
		r.Body = replaced{bytes.NewReader(edit(body)), r.Body}
		r.Header.Del("Content-Length")
		r.ContentLength = -1
	}})
}

// frames edits the events of JSON watches, one by one, as they come.
func (m *meddler) frames(fits func(*http.Request) bool, edit func(frame []byte) []byte) {
	m.add(&rule{fits: fits, after: func(r *http.Response) {
		r.Body = replaced{&frames{in: json.NewDecoder(r.Body), edit: edit}, r.Body}
	}})
}

// bodies replaces what is read of the answers.
func (m *meddler) bodies(fits func(*http.Request) bool, replace func(*http.Response) io.Reader) {
	m.add(&rule{fits: fits, after: func(r *http.Response) { r.Body = replaced{replace(r), r.Body} }})
}

// awaitRequests waits until so many requests have been made.
func (m *meddler) awaitRequests(n int) {
	m.e.Helper()
	if !m.await(m.e.ctx, func() bool { return m.requests >= n }) {
		m.e.Fatalf("waited without result for %d requests", n)
	}
}

type replaced struct {
	io.Reader
	io.Closer
}

// frames reads a stream of JSON values, edits each, and hands on what is left.
type frames struct {
	in      *json.Decoder
	edit    func([]byte) []byte
	pending []byte
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.pending) == 0 {
		var frame json.RawMessage
		if err := f.in.Decode(&frame); err != nil {
			return 0, err
		}
		f.pending = f.edit(frame)
	}
	n := copy(p, f.pending)
	f.pending = f.pending[n:]
	return n, nil
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// isProbe reports requests that only ask for the server's version.
func isProbe(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodGet && !isWatch(r) &&
		(q.Get("limit") == "1" || strings.Contains(q.Get("fieldSelector"), "metadata.name=kinform-asks-for-the-version"))
}

// isList tells a list of everything from a look at the version.
func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && !isWatch(r) && r.URL.Query().Get("limit") == "" && !isProbe(r)
}

// times fits the first n requests that fit all.
func times(n int, all ...func(*http.Request) bool) func(*http.Request) bool {
	var mu sync.Mutex
	return func(r *http.Request) bool {
		for _, fits := range all {
			if !fits(r) {
				return false
			}
		}
		mu.Lock()
		defer mu.Unlock()
		n--
		return n >= 0
	}
}

// once fits the first request that fits all.
func once(all ...func(*http.Request) bool) func(*http.Request) bool { return times(1, all...) }

// answer is one that no server gave.
func answer(code int, contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: code,
		Status:     http.StatusText(code),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}},
		Body:   io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

// failure is the answer of a server that says what is wrong.
func failure(code int32, reason metav1.StatusReason, message string) *http.Response {
	return answer(int(code), "application/json", string(render(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})))
}
