package apisim_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/apisim"
)

// FuzzRequest sends whatever it can think of. The server must never panic; a
// request that is refused, or that only reads, must change nothing; a creation
// must have created; and what is said to be JSON must be.
func FuzzRequest(f *testing.F) {
	for _, seed := range requestSeeds {
		f.Add(seed.method, seed.target, seed.accept, seed.content, []byte(seed.body))
	}
	s, log := loggedServer(f)
	base := s.Snapshot()
	f.Fuzz(func(t *testing.T, method, target, accept, content string, body []byte) {
		r, ok := fuzzedRequest(method, target, accept, content, body)
		if !ok {
			return
		}
		s.Restore(base)
		before := s.ResourceVersion()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if text := log.String(); text != "" {
			t.Fatalf("%s %s: %s", method, target, text)
		}
		checkAnswer(t, r, w, before, s.ResourceVersion())
	})
}

// fuzzedRequest makes a request as net/http would hand it to a handler. Its
// client has already gone, so that nothing waits.
func fuzzedRequest(method, target, accept, content string, body []byte) (*http.Request, bool) {
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(u.Path, "/") || method == "" {
		return nil, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://server"+u.RequestURI(), strings.NewReader(string(body)))
	if err != nil {
		return nil, false
	}
	r.Header.Set("Accept", accept)
	r.Header.Set("Content-Type", content)
	return r, true
}

func checkAnswer(t *testing.T, r *http.Request, w *httptest.ResponseRecorder, before, after uint64) {
	t.Helper()
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if after != before && (reads || w.Code >= 400) {
		t.Fatalf("%s %s answered %d and moved the version from %d to %d", r.Method, r.URL, w.Code, before, after)
	}
	isJSON := strings.HasPrefix(w.Header().Get("Content-Type"), "application/json")
	if w.Code >= 400 && isJSON {
		var status metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Kind != "Status" || int(status.Code) != w.Code {
			t.Fatalf("%s %s answered %d %s", r.Method, r.URL, w.Code, w.Body)
		}
	}
	if w.Code == http.StatusCreated && after == before && !r.URL.Query().Has("dryRun") && !strings.Contains(r.URL.Path, "reviews") {
		t.Fatalf("%s %s answered %d %s, but nothing was created", r.Method, r.URL, w.Code, w.Body)
	}
	if w.Code < 300 && isJSON {
		decoder := json.NewDecoder(w.Body)
		for decoder.More() {
			var value any
			if err := decoder.Decode(&value); err != nil {
				t.Fatalf("%s %s answered no JSON: %v", r.Method, r.URL, err)
			}
		}
	}
}

// loggedServer has a few objects, and the text of whatever it complained of.
func loggedServer(t testing.TB) (*apisim.Server, *strings.Builder) {
	log := &strings.Builder{}
	s := start(t, apisim.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	c := talk(t, s)
	define(c)
	c.object(201, "POST", gadgets, gadget("a", `"color":"red"`))
	c.object(201, "POST", configMaps, configMap("a"))
	c.object(201, "POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	c.object(201, "POST", "/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"a"},"spec":{"replicas":2}}`)
	return s, log
}

const (
	asJSON     = "application/json"
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asMeta     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

var requestSeeds = []struct{ method, target, accept, content, body string }{
	{"GET", "/", "", "", ""},
	{"GET", "/api", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "", ""},
	{"GET", "/apis", asProtobuf, "", ""},
	{"GET", "/openapi/v3/api/v1", "", "", ""},
	{"GET", configMaps, asJSON, "", ""},
	{"GET", configMaps + "?limit=1&resourceVersion=0", asProtobuf, "", ""},
	{"GET", configMaps + "?resourceVersion=1&resourceVersionMatch=Exact", asJSON, "", ""},
	{"GET", configMaps + "?resourceVersion=99999&resourceVersionMatch=NotOlderThan", asJSON, "", ""},
	{"GET", configMaps + "?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9", asJSON, "", ""},
	{"GET", configMaps + "?labelSelector=a+in+(b,c),!d&fieldSelector=metadata.name!=x", asJSON + asMeta, "", ""},
	{"GET", configMaps + "?watch=1&resourceVersion=0&allowWatchBookmarks=1", asJSON, "", ""},
	{"GET", configMaps + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", asProtobuf + ";stream=watch", "", ""},
	{"GET", "/api/v1/watch/namespaces/default/configmaps/a", asJSON, "", ""},
	{"GET", gadgets + "?fieldSelector=spec.color=red", asProtobuf + asMeta, "", ""},
	{"GET", gadgets + "/a/scale", "application/yaml", "", ""},
	{"GET", "/api/v1/namespaces/default/pods", "application/json;as=Table;g=meta.k8s.io;v=v1", "", ""},
	{"POST", configMaps, asJSON, asJSON, `{"metadata":{"name":"b"},"data":{"k":"v"}}`},
	{"POST", configMaps + "?dryRun=All&fieldValidation=Strict", asJSON, asJSON, `{"metadata":{"generateName":"b-"},"other":1}`},
	{"POST", configMaps, asJSON, "application/yaml", "metadata: {name: b}\n"},
	{"POST", configMaps, asProtobuf, asProtobuf, "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x07\n\x05\n\x01b\x12\x00\x1a\x00\x22\x00"},
	{"POST", gadgets, asJSON, asJSON, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"b"}}`},
	{"POST", definitions, asJSON, asJSON, gadgetDefinition},
	{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asJSON, asJSON, `{}`},
	{"POST", "/api/v1/namespaces/default/pods/a/binding", asJSON, asJSON, `{"target":{"name":"n"}}`},
	{"PUT", configMaps + "/a", asJSON, asJSON, `{"metadata":{"name":"a","resourceVersion":"1"}}`},
	{"PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/b", asJSON, asJSON, `{"metadata":{"name":"b"}}`},
	{"PUT", "/apis/apps/v1/namespaces/default/deployments/a/status", asJSON, asJSON, `{"metadata":{"name":"a"},"status":{"replicas":1}}`},
	{"PUT", "/apis/apps/v1/namespaces/default/deployments/a/scale", asJSON, asJSON, `{"metadata":{"name":"a"},"spec":{"replicas":1}}`},
	{"PATCH", configMaps + "/a", asJSON, "application/merge-patch+json", `{"data":{"k":null}}`},
	{"PATCH", configMaps + "/a", asJSON, "application/json-patch+json", `[{"op":"add","path":"/data/x","value":"y"}]`},
	{"PATCH", "/apis/apps/v1/namespaces/default/deployments/a", asJSON, "application/strategic-merge-patch+json", `{"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}`},
	{"PATCH", configMaps + "/a", asJSON, "application/apply-patch+yaml", `{}`},
	{"PATCH", gadgets + "/a/status", asJSON, "application/merge-patch+json", `{"status":[]}`},
	{"PATCH", gadgets + "/a", asJSON, "application/merge-patch+json", `{"metadata":{"labels":7}}`},
	{"PATCH", definitions + "/gadgets.example.com", asJSON, "application/merge-patch+json", `{"spec":{"versions":null}}`},
	{"DELETE", configMaps + "/a", asJSON, asJSON, `{"preconditions":{"uid":"x"}}`},
	{"DELETE", configMaps + "?labelSelector=x", asJSON, "", ""},
	{"DELETE", "/api/v1/namespaces/default", asJSON, "", ""},
	{"DELETE", definitions + "/gadgets.example.com", asProtobuf, "", ""},
	{"OPTIONS", configMaps, "", "", ""},
	{"GET", "/api/v1/namespaces/default/pods/a/log", "", "", ""},
}
