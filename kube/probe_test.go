package kube_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kinform/kinform/internal/engine"
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
		"selects":          {200, head + `]}`, []string{cached, cached}},
		"ignores it":       {200, head + `{"metadata":{"name":"a"}}]}`, []string{cached, stored, stored}},
		"cannot":           {501, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":501}`, []string{cached, stored, stored}},
		"finds it invalid": {422, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, []string{cached, stored, stored}},
		"does not select":  {400, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`, []string{cached, stored, stored}},
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

// limiter lets nobody pass.
type limiter struct{ flowcontrol.RateLimiter }

func (limiter) Wait(context.Context) error { return errors.New("it is not our turn") }

// TestProbesAreNotLimited: a hundred informers of one client, with client-go's five
// requests a second, would wait for 18 s after a restart of the server.
func TestProbesAreNotLimited(t *testing.T) {
	const body = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"80"},"items":[]}`
	client, err := rest.NewRESTClient(&url.URL{Scheme: "http", Host: "server"}, "", rest.ClientContentConfig{
		GroupVersion: schema.GroupVersion{Version: "v1"}, Negotiator: runtime.NewClientNegotiator(scheme.Codecs, schema.GroupVersion{Version: "v1"}),
	}, limiter{}, &http.Client{Transport: answering(func(r *http.Request) (*http.Response, error) {
		return answered(r, strings.NewReader(body)), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	source := kube.NewSource(client, kube.Query{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}})
	for _, version := range []string{"70", ""} {
		stream, err := source.List(t.Context(), engine.ListOptions{Limit: 1, Probe: true, ResourceVersion: version})
		if err != nil {
			t.Errorf("a probe for version %q: %v", version, err)
			continue
		}
		stream.Close()
	}
	if _, err := source.List(t.Context(), engine.ListOptions{}); err == nil {
		t.Error("a list is not limited")
	}
}
