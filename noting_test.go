package kinform

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// inProtobuf is an object as a server sends it.
func inProtobuf(t *testing.T, obj runtime.Object) string {
	t.Helper()
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.MediaType == "application/vnd.kubernetes.protobuf" {
			raw, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
	}
	t.Fatal("there is no protobuf")
	return ""
}

// noted is what was noted, as text.
func (w *Writes) noted() string {
	var all []string
	for a, at := range w.areas {
		text := strings.TrimPrefix(a.Group+"/", "/") + a.Resource + " in " + a.namespace
		if v := at.version.String(); v != "" {
			text += " @" + v
		}
		if at.unclear > 0 {
			text += fmt.Sprint(" unclear ", at.unclear)
		}
		for _, name := range slices.Sorted(maps.Keys(at.deleted)) {
			text += fmt.Sprintf(" -%s %s@%s", name, at.deleted[name].uid, at.deleted[name].before)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

type fixed func(*http.Request) (*http.Response, error)

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exchange has a write answered, and returns what the client read.
func exchange(t *testing.T, w *Writes, method, url, request string, code int, contentType, body string) string {
	t.Helper()
	rt := w.Wrap(fixed(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {contentType}},
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}))
	var sent io.Reader
	if request != "" {
		sent = strings.NewReader(request)
	}
	req, err := http.NewRequest(method, "https://server"+url, sent)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(read)
}

// TestNoting: which answers are noted, and as what.
func TestNoting(t *testing.T) {
	const (
		pod     = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"a","uid":"u1","resourceVersion":"17"}}`
		going   = `{"kind":"Pod","metadata":{"name":"a","uid":"u1","resourceVersion":"17","deletionTimestamp":"2026-01-01T00:00:00Z"}}`
		success = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","uid":"u1"}}`
		created = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`
		pods    = "/api/v1/namespaces/ns/pods"
		json    = "application/json"
	)
	protobuf := "application/vnd.kubernetes.protobuf"
	cm := inProtobuf(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "u2", ResourceVersion: "18"}})
	status := inProtobuf(t, &metav1.Status{Status: "Success", Details: &metav1.StatusDetails{Name: "c", UID: "u2"}})
	dry := inProtobuf(t, &metav1.DeleteOptions{DryRun: []string{"All"}})
	wet := inProtobuf(t, &metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
	for _, c := range []struct {
		name, method, url, request string
		code                       int
		contentType, body, want    string
	}{
		{"create", "POST", pods, pod, 201, json, pod, "pods in ns @17"},
		{"update", "PUT", pods + "/a", pod, 200, json + ";charset=utf-8", pod, "pods in ns @17"},
		{"patch of a status", "PATCH", pods + "/a/status", "{}", 200, json, pod, "pods in ns @17"},
		{"protobuf", "PUT", "/api/v1/namespaces/ns/configmaps/c", cm, 200, protobuf, cm, "configmaps in ns @18"},
		{"a group, a scale", "PUT", "/apis/apps/v1/namespaces/ns/deployments/d/scale", "{}", 200, json,
			`{"kind":"Scale","metadata":{"name":"d","resourceVersion":"19"}}`, "apps/deployments in ns @19"},
		{"behind a path", "POST", "/k8s/clusters/api/c1" + pods, pod, 201, json, pod, "pods in ns @17"},
		{"cluster-scoped", "PUT", "/api/v1/nodes/n", "{}", 200, json, pod, "nodes in  @17"},
		{"a namespace", "PATCH", "/api/v1/namespaces/ns", "{}", 200, json, pod, "namespaces in  @17"},
		{"a namespace's part", "PUT", "/api/v1/namespaces/ns/finalize", "{}", 200, json, pod, "namespaces in  @17"},
		{"delete, a status", "DELETE", pods + "/a", "", 200, json, success, "pods in ns -a u1@"},
		{"delete, a status in protobuf", "DELETE", "/api/v1/namespaces/ns/configmaps/c", wet, 200, protobuf, status, "configmaps in ns -c u2@"},
		{"delete, the object", "DELETE", pods + "/a", "{}", 200, json, pod, "pods in ns @17 -a u1@17"},
		{"delete, marked", "DELETE", pods + "/a", "{}", 200, json, going, "pods in ns @17"},
		{"delete, a status without uid", "DELETE", pods + "/a", "{}", 200, json, created, "pods in ns unclear 1"},
		{"delete, dry in JSON", "DELETE", pods + "/a", `{"dryRun":["All"]}`, 200, json, success, ""},
		{"delete, dry in protobuf", "DELETE", pods + "/a", dry, 200, json, success, ""},
		{"delete, dry in the query", "DELETE", pods + "/a?dryRun=All", "", 200, json, success, ""},
		{"delete of all, dry", "DELETE", pods, `{"dryRun":["All"]}`, 200, json, success, ""},
		{"delete of all", "DELETE", pods + "?labelSelector=a", `{}`, 200, json, `{"kind":"PodList","items":[]}`, "pods in ns unclear 1"},
		{"dry", "POST", pods + "?dryRun=All", pod, 201, json, pod, ""},
		{"refused", "POST", pods, pod, 409, json, created, ""},
		{"failed", "POST", pods, pod, 500, json, created, ""},
		{"a read", "GET", pods + "/a", "", 200, json, pod, ""},
		{"eviction", "POST", pods + "/a/eviction", "{}", 201, json, created, "pods in ns unclear 1"},
		{"a token", "POST", "/api/v1/namespaces/ns/serviceaccounts/s/token", "{}", 201, json, `{"kind":"TokenRequest","metadata":{"name":"s"}}`, ""},
		{"a review", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}", 201, json, `{"kind":"SelfSubjectAccessReview","metadata":{}}`, ""},
		{"passed on to a service", "POST", "/api/v1/namespaces/ns/services/s/proxy/api/v1/pods", "{}", 200, json, pod, ""},
		{"no part of the API", "POST", "/healthz", "{}", 200, json, pod, ""},
		{"an encoding that is not known", "POST", pods, pod, 201, "application/cbor", "\x00", "pods in ns unclear 1"},
		{"not what it says", "POST", pods, pod, 201, json, "<html>", "pods in ns unclear 1"},
		{"a version that is no number", "POST", pods, pod, 201, json, `{"metadata":{"resourceVersion":"abc"}}`, "pods in ns unclear 1"},
		{"too large", "POST", pods, pod, 201, json, pod + strings.Repeat(" ", largestCopy), "pods in ns unclear 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Writes
			if read := exchange(t, &w, c.method, c.url, c.request, c.code, c.contentType, c.body); read != c.body {
				t.Errorf("the client read %d bytes, the server sent %d", len(read), len(c.body))
			}
			if got := w.noted(); got != c.want {
				t.Errorf("noted %q, want %q", got, c.want)
			}
		})
	}
}

// TestNotingKeepsTheHighest of what is written in a namespace.
func TestNotingKeepsTheHighest(t *testing.T) {
	var w Writes
	for _, v := range []int{9, 100, 20} {
		exchange(t, &w, "POST", "/api/v1/namespaces/ns/pods", "{}", 201, "application/json",
			fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"}}`, v))
	}
	if got := w.noted(); got != "pods in ns @100" {
		t.Errorf("noted %q", got)
	}
}

// TestNotingReadsNothingAhead: of reads, watches and connections that are taken over the
// body is the transport's own, and of writes it is read as the client reads.
func TestNotingReadsNothingAhead(t *testing.T) {
	var w Writes
	own := io.NopCloser(bytes.NewReader(nil))
	for method, code := range map[string]int{"GET": 200, "POST": http.StatusSwitchingProtocols} {
		rt := w.Wrap(fixed(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: own}, nil
		}))
		req, _ := http.NewRequest(method, "https://server/api/v1/namespaces/ns/pods/a/exec?watch=true", nil)
		if resp, err := rt.RoundTrip(req); err != nil || resp.Body != own {
			t.Errorf("%s: the body is another one, %v", method, err)
		}
	}
	r, body := io.Pipe()
	rt := w.Wrap(fixed(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: r}, nil
	}))
	req, _ := http.NewRequest("PUT", "https://server/api/v1/namespaces/ns/pods/a", nil)
	resp, err := rt.RoundTrip(req) // which would block if it read
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = body.Write([]byte(`{"metadata":`)) }()
	some := make([]byte, 100)
	if n, err := resp.Body.Read(some); n != 12 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if err := resp.Body.Close(); err != nil { // before the end
		t.Fatal(err)
	}
	if got := w.noted(); got != "pods in ns unclear 1" {
		t.Errorf("noted %q", got)
	}
}

// TestNotingIsBounded: what is written in many namespaces, or deleted without a version,
// takes no more than a megabyte, and is not forgotten.
func TestNotingIsBounded(t *testing.T) {
	var w Writes
	for i := range 20_000 {
		exchange(t, &w, "POST", fmt.Sprintf("/api/v1/namespaces/ns-%d/pods", i), "{}", 201, "application/json",
			fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"}}`, i+1))
		exchange(t, &w, "DELETE", fmt.Sprintf("/apis/apps/v1/namespaces/ns/deployments/d-%d", i), "", 200, "application/json",
			`{"kind":"Status","details":{"uid":"4d9cf2a6-7b9c-4a2e-9a57-0a5d43a5a0de"}}`)
		if w.bytes > maxWritten {
			t.Fatalf("%d bytes after %d writes", w.bytes, i)
		}
	}
	weight := 0
	for a, at := range w.areas {
		weight += a.weight()
		for name, d := range at.deleted {
			weight += d.weight(name)
		}
	}
	if weight != w.bytes {
		t.Errorf("the notes weigh %d, and count as %d", weight, w.bytes)
	}
	pods, deployments := area{namespace: anywhere}, area{namespace: anywhere}
	pods.Resource, deployments.Resource, deployments.Group = "pods", "deployments", "apps"
	if at := w.areas[pods]; at == nil || at.version.String() == "" {
		t.Error("old versions are forgotten")
	}
	if at := w.areas[deployments]; at == nil || at.unclear == 0 {
		t.Error("old deletions are forgotten")
	}
	if p := w.pendingFor(pods.GroupResource, []string{"ns-0/a"}); len(p) != 1 || p[0].version.String() == "" {
		t.Errorf("for an object of the first namespace %v is pending", p)
	}
}

func BenchmarkNothingToWaitFor(b *testing.B) {
	var w Writes
	a := area{namespace: "ns"}
	a.Resource = "pods"
	for i := range 100 {
		a.namespace = fmt.Sprint("ns-", i)
		w.noteUnclear(a)
	}
	for b.Loop() {
		w.pendingFor(a.GroupResource, []string{"ns-7/a"})
	}
}
