package kube_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/engine"
	"github.com/kinform/kinform/kube"
)

// TestProbeAsksTheCache: for a name that nobody has, without a limit, whatever a tweak
// does to the selectors. A server that cannot select by name is asked for one object.
func TestProbeAsksTheCache(t *testing.T) {
	const cached = "fieldSelector=spec.nodeName%3Dn%2Cmetadata.name%3Dkinform-asks-for-the-version&resourceVersion=70&resourceVersionMatch=NotOlderThan"
	const stored = "fieldSelector=spec.nodeName%3Dn&limit=1"
	const head = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"80"},"items":[`
	for name, c := range map[string]struct {
		code int
		body string
		want []string
	}{
		"selects":         {200, head + `]}`, []string{cached, cached}},
		"ignores it":      {200, head + `{"metadata":{"name":"a"}}]}`, []string{cached, stored, stored}},
		"does not select": {400, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`, []string{cached, stored, stored}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			client := newClient(t, answering(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.URL.RawQuery)
				body := c.body
				if strings.Contains(r.URL.RawQuery, "limit=1") {
					body = head + `]}`
				}
				resp := answered(r, strings.NewReader(body))
				if body == c.body {
					resp.StatusCode = c.code
				}
				return resp, nil
			}))
			source := kube.NewSource(client, kube.Query{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
				Tweak: func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName=n" }})
			for range 2 {
				stream, err := source.List(t.Context(), engine.ListOptions{Limit: 1, Probe: true, ResourceVersion: "70"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Next(); err != io.EOF || stream.Meta().ResourceVersion != "80" {
					t.Errorf("%v, version %q", err, stream.Meta().ResourceVersion)
				}
				stream.Close()
			}
			if !slices.Equal(asked, c.want) {
				t.Errorf("asked for %q, want %q", asked, c.want)
			}
		})
	}
}
