package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// Content types, as a client asks for them and as the server names them.
const (
	asJSON     = "application/json"
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asYAML     = "application/yaml"

	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)

// params are the query of a request.
type params map[string]string

// headers are the headers of a request; an empty one is not sent.
type headers map[string]string

// accept is the header that asks for a content type.
func accept(contentType string) headers { return headers{"Accept": contentType} }

// answer is a response that was read to its end.
type answer struct {
	request string // method and address, for messages
	code    int
	header  http.Header
	body    []byte
}

func (a *answer) String() string {
	body := a.body
	if len(body) > 500 {
		body = body[:500]
	}
	return fmt.Sprintf("%s answered %d %q", a.request, a.code, body)
}

// newRequest makes a request to the server; the path is not escaped further.
func (c *clients) newRequest(ctx context.Context, method, path string, query params, hs headers, body []byte) (*http.Request, error) {
	address := *c.base
	address.Path = path
	values := url.Values{}
	for name, value := range query {
		values.Set(name, value)
	}
	address.RawQuery = values.Encode()
	r, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range hs {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r, nil
}

func (c *clients) roundTrip(ctx context.Context, as *http.Client, method, path string, query params, hs headers, body []byte) (*answer, error) {
	r, err := c.newRequest(ctx, method, path, query, hs, body)
	if err != nil {
		return nil, err
	}
	response, err := as.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer to %s %s: %w", method, r.URL, err)
	}
	return &answer{request: method + " " + r.URL.RequestURI(), code: response.StatusCode, header: response.Header, body: content}, nil
}

// do sends one request as the given user and reads the answer.
func (e *env) do(as *http.Client, method, path string, query params, hs headers, body []byte) *answer {
	e.Helper()
	a, err := e.roundTrip(e.ctx, as, method, path, query, hs, body)
	must(e, err, method+" "+path)
	return a
}

// get reads an address as JSON.
func (e *env) get(path string, query params) *answer {
	e.Helper()
	return e.do(e.admin, http.MethodGet, path, query, accept(asJSON), nil)
}

// getAs reads an address in the form that the Accept header asks for.
func (e *env) getAs(contentType, path string, query params) *answer {
	e.Helper()
	return e.do(e.admin, http.MethodGet, path, query, accept(contentType), nil)
}

// send writes JSON, or what contentType says, to an address.
func (e *env) send(method, path, contentType, body string) *answer {
	e.Helper()
	return e.do(e.admin, method, path, nil, headers{"Content-Type": contentType, "Accept": asJSON}, []byte(body))
}

func (e *env) post(path, body string) *answer {
	e.Helper()
	return e.send(http.MethodPost, path, asJSON, body)
}

func (e *env) put(path, body string) *answer {
	e.Helper()
	return e.send(http.MethodPut, path, asJSON, body)
}

func (e *env) patch(path, contentType, body string) *answer {
	e.Helper()
	return e.send(http.MethodPatch, path, contentType, body)
}

// delete deletes with DeleteOptions as JSON; empty for none.
func (e *env) delete(path, options string) *answer {
	e.Helper()
	return e.send(http.MethodDelete, path, asJSON, options)
}

// want checks the status code of an answer.
func (e *env) want(a *answer, code int) *answer {
	e.Helper()
	if a.code != code {
		e.Fatalf("%s, want %d", a, code)
	}
	return a
}

// wantFailure checks that an answer is a Status that says so, with code and
// reason, in the body as well as in the head.
func (e *env) wantFailure(a *answer, code int, reason metav1.StatusReason) *metav1.Status {
	e.Helper()
	e.want(a, code)
	status := &metav1.Status{}
	if err := json.Unmarshal(a.body, status); err != nil {
		e.Fatalf("%s, want a Status in JSON: %v", a, err)
	}
	if status.Kind != "Status" || status.APIVersion != "v1" || status.Status != metav1.StatusFailure {
		e.Errorf("%s, want a v1 Status that is a failure", a)
	}
	if int(status.Code) != code || status.Reason != reason {
		e.Errorf("%s: code %d, reason %q, want %d, %q", a, status.Code, status.Reason, code, reason)
	}
	return status
}

// object decodes a JSON answer that must have succeeded.
func (e *env) object(a *answer) *unstructured.Unstructured {
	e.Helper()
	if a.code != http.StatusOK && a.code != http.StatusCreated {
		e.Fatalf("%s, want an object", a)
	}
	return e.decode(a.body)
}

// list decodes a JSON answer that must be a list.
func (e *env) list(a *answer) *unstructured.UnstructuredList {
	e.Helper()
	e.want(a, http.StatusOK)
	content := e.decode(a.body).Object
	items, isList := content["items"].([]any)
	if !isList {
		e.Fatalf("%s, want a list whose items are an array", a)
	}
	delete(content, "items")
	list := &unstructured.UnstructuredList{Object: content}
	for _, item := range items {
		list.Items = append(list.Items, unstructured.Unstructured{Object: item.(map[string]any)})
	}
	return list
}

// decode reads one JSON object as it stands, without demanding a kind.
func (e *env) decode(data []byte) *unstructured.Unstructured {
	e.Helper()
	content := map[string]any{}
	if err := json.Unmarshal(data, &content); err != nil {
		e.Fatalf("decoding an object: %v: %.300q", err, data)
	}
	return &unstructured.Unstructured{Object: content}
}
