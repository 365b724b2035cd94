package kinform

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// noting is a transport that notes writes.
type noting struct {
	next   http.RoundTripper
	writes *Writes
}

// WrappedRoundTripper gives client-go what is below.
func (n *noting) WrappedRoundTripper() http.RoundTripper { return n.next }

// RoundTrip sends a request, and notes it if it is a write that the server accepts.
func (n *noting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(req)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp, err
	}
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return resp, nil
	}
	to, ok := parseTarget(req.URL.Path)
	if !ok || req.URL.Query().Get("dryRun") != "" {
		return resp, nil
	}
	if req.Method == http.MethodDelete {
		dry, known := dryDeletion(req)
		switch {
		case dry:
			return resp, nil
		case !known || to.name == "":
			n.writes.noteUnclear(to.area)
			return resp, nil
		}
	}
	format := formatOf(resp)
	if format == 0 || resp.Body == nil {
		n.writes.noteUnclear(to.area)
		return resp, nil
	}
	resp.Body = &copying{ReadCloser: resp.Body, done: func(body []byte) { n.writes.read(req.Method, to, format, body) }}
	return resp, nil
}

// formatOf returns the encoding of an answer, zero if it cannot be read.
func formatOf(resp *http.Response) wire.Format {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || resp.Header.Get("Content-Encoding") != "" {
		return 0
	}
	switch media {
	case "application/json":
		return wire.JSON
	case "application/vnd.kubernetes.protobuf":
		return wire.Protobuf
	}
	return 0
}

// target is what a request is about.
type target struct {
	area
	name, subresource string
}

// parseTarget reads the path of a request: /api/v1 or /apis/group/version, after whatever
// a proxy has before it, then /namespaces/x if the resource has them, the resource, the
// name and the subresource.
func parseTarget(path string) (t target, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		switch rest := parts[i+1:]; {
		case p == "api" && len(rest) > 1 && isVersion(rest[0]):
			return t, t.parse(rest[1:])
		case p == "apis" && len(rest) > 2 && isVersion(rest[1]):
			t.Group = rest[0]
			return t, t.parse(rest[2:])
		}
	}
	return t, false
}

// isVersion reports whether a part of a path is an API version, such as v1beta1.
func isVersion(part string) bool {
	return len(part) > 1 && part[0] == 'v' && part[1] >= '1' && part[1] <= '9'
}

// parse reads what follows the version. It returns false for what is passed on to others.
func (t *target) parse(parts []string) bool {
	if len(parts) > 2 && parts[0] == "namespaces" && !(t.Group == "" && isNamespacePart(parts[2])) {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.Resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t.subresource != "proxy"
}

// isNamespacePart reports whether a name is that of a subresource of namespaces.
func isNamespacePart(name string) bool { return name == "status" || name == "finalize" }

// The fields that are read of a deletion's options and of what answers it.
var (
	dryRunOf = mustPath("dryRun", metav1.DeleteOptions{})
	uidOf    = mustPath("details.uid", metav1.Status{})
)

func mustPath(text string, of any) wire.Path {
	p, err := wire.ParsePath(text, reflect.TypeOf(of))
	if err != nil {
		panic(err)
	}
	return p
}

// dryDeletion reports whether a deletion is only tried out, which its body may say, if
// that can be known.
func dryDeletion(req *http.Request) (dry, known bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return false, true
	}
	if req.GetBody == nil {
		return false, false
	}
	body, err := req.GetBody()
	if err != nil {
		return false, false
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, largestCopy))
	if err != nil || len(raw) == 0 {
		return false, err == nil
	}
	format := wire.JSON
	if envelope, err := wire.OpenEnvelope(raw); err == nil {
		format, raw = wire.Protobuf, envelope.Raw
	}
	values, err := dryRunOf.Values(nil, format, raw)
	return len(values) > 0, err == nil
}

// largestCopy is how much of an answer is read.
const largestCopy = 4 << 20

// read notes a write by the body of its answer; nil: it cannot be read.
func (w *Writes) read(method string, to target, format wire.Format, body []byte) {
	kind, raw := "", body
	if format == wire.Protobuf {
		envelope, err := wire.OpenEnvelope(body)
		if err != nil {
			w.noteUnclear(to.area)
			return
		}
		kind, raw = string(envelope.Kind), envelope.Raw
	}
	var meta wire.Meta
	if err := meta.Scan(format, raw); err != nil {
		w.noteUnclear(to.area)
		return
	}
	if format == wire.JSON {
		kind = string(meta.Kind)
	}
	deletes := method == http.MethodDelete && to.subresource == ""
	switch {
	case kind == "Status":
		uid, err := uidOf.Values(nil, format, raw)
		if !deletes || err != nil || len(uid) != 1 {
			w.noteUnclear(to.area)
			return
		}
		w.noteDeleted(to.area, to.name, deletion{uid: uid[0]})
	case len(meta.ResourceVersion) > 0:
		v := engine.ParseVersion(meta.ResourceVersion)
		w.noteVersion(to.area, v)
		if deletes && !meta.Deleting { // some servers return the state before it
			w.noteDeleted(to.area, to.name, deletion{uid: string(meta.UID), before: v})
		}
	case method != http.MethodPost: // those are reviews and tokens, which are not stored
		w.noteUnclear(to.area)
	}
}

// copying is a body of which a copy is kept while it is read.
type copying struct {
	io.ReadCloser
	copied bytes.Buffer
	large  bool
	once   sync.Once
	done   func([]byte)
}

func (c *copying) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.large = c.large || c.copied.Len()+n > largestCopy; c.large {
		c.copied = bytes.Buffer{}
	} else {
		c.copied.Write(p[:n])
	}
	if err != nil {
		c.end()
	}
	return n, err
}

func (c *copying) Close() error {
	c.end()
	return c.ReadCloser.Close()
}

func (c *copying) end() {
	c.once.Do(func() {
		c.done(c.copied.Bytes())
		c.copied = bytes.Buffer{}
	})
}
