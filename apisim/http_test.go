package apisim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/apisim"
)

// conversation sends plain HTTP requests to a server, each on a connection of
// its own.
type conversation struct {
	testing.TB
	server *apisim.Server
	client *http.Client
}

func talk(t testing.TB, s *apisim.Server) *conversation {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.DisableCompression = true
	return &conversation{TB: t, server: s, client: &http.Client{Transport: transport}}
}

// send returns the answer; an error is one of the connection.
func (c *conversation) send(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	c.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.server.URL()+path, bytes.NewBufferString(body))
	if err != nil {
		c.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return c.client.Do(r)
}

// do reads the whole answer, which must come.
func (c *conversation) do(method, path, body string, headers ...string) (int, []byte) {
	c.Helper()
	response, err := c.send(c.Context(), method, path, body, headers...)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return response.StatusCode, data
}

// object is do for answers that must have a code and hold an object.
func (c *conversation) object(want int, method, path, body string, headers ...string) *unstructured.Unstructured {
	c.Helper()
	code, data := c.do(method, path, body, headers...)
	if code != want {
		c.Fatalf("%s %s answered %d %s, want %d", method, path, code, data, want)
	}
	var obj unstructured.Unstructured
	if err := json.Unmarshal(data, &obj.Object); err != nil {
		c.Fatalf("%s %s answered %s: %v", method, path, data, err)
	}
	return &obj
}

// refused is do for requests that must be answered with a Status.
func (c *conversation) refused(want int, reason metav1.StatusReason, method, path, body string, headers ...string) metav1.Status {
	c.Helper()
	code, data := c.do(method, path, body, headers...)
	var status metav1.Status
	if err := json.Unmarshal(data, &status); err != nil || code != want || status.Kind != "Status" || status.Reason != reason || int(status.Code) != want {
		c.Errorf("%s %s answered %d %s, want %d %s", method, path, code, data, want, reason)
	}
	return status
}

// stream is a watch in JSON.
type stream struct {
	*conversation
	cancel  context.CancelFunc
	body    io.ReadCloser
	decoder *json.Decoder
}

type streamEvent struct {
	Type   string                     `json:"type"`
	Object *unstructured.Unstructured `json:"object"`
}

func (c *conversation) watch(path string) *stream {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	response, err := c.send(ctx, http.MethodGet, path, "")
	if err != nil || response.StatusCode != http.StatusOK {
		cancel()
		c.Fatalf("watch %s: %v, %v", path, response, err)
	}
	s := &stream{conversation: c, cancel: cancel, body: response.Body, decoder: json.NewDecoder(response.Body)}
	c.Cleanup(s.stop)
	return s
}

func (s *stream) stop() {
	s.cancel()
	s.body.Close()
}

// next reads an event; the error is that of the stream.
func (s *stream) next() (streamEvent, error) {
	var e streamEvent
	err := s.decoder.Decode(&e)
	return e, err
}

// want reads an event, which must be of a type and an object.
func (s *stream) want(kind, name string) *unstructured.Unstructured {
	s.Helper()
	e, err := s.next()
	if err != nil {
		s.Fatalf("waiting for %s of %q: %v", kind, name, err)
	}
	if e.Type != kind || e.Object.GetName() != name {
		s.Fatalf("the watch said %s of %v, want %s of %q", e.Type, e.Object, kind, name)
	}
	return e.Object
}

// ended reads to the end of the stream, past all that is still to come.
func (s *stream) ended() error {
	for {
		if _, err := s.next(); err != nil {
			return err
		}
	}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func configMap(name string) string {
	return `{"metadata":{"name":"` + name + `"},"data":{"k":"v"}}`
}
