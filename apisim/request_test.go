package apisim

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestParseRequest(t *testing.T) {
	type want struct{ verb, group, version, resource, subresource, namespace, name string }
	for _, c := range []struct {
		method, url string
		want        want
		other       bool // no resource
	}{
		{method: "GET", url: "/api/v1/pods", want: want{verb: "list", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/pods/", want: want{verb: "list", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/pods?watch=1", want: want{verb: "watch", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/pods?watch=false", want: want{verb: "list", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/pods?watch=0", want: want{verb: "list", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/pods?watch", want: want{verb: "watch", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/watch/pods", want: want{verb: "watch", version: "v1", resource: "pods"}},
		{method: "GET", url: "/api/v1/watch/namespaces/a/pods/b",
			want: want{verb: "watch", version: "v1", resource: "pods", namespace: "a", name: "b"}},
		{method: "GET", url: "/api/v1/namespaces/a/pods", want: want{verb: "list", version: "v1", resource: "pods", namespace: "a"}},
		{method: "GET", url: "/api/v1/namespaces/a/pods/b",
			want: want{verb: "get", version: "v1", resource: "pods", namespace: "a", name: "b"}},
		{method: "PUT", url: "/api/v1/namespaces/a/pods/b/status",
			want: want{verb: "update", version: "v1", resource: "pods", subresource: "status", namespace: "a", name: "b"}},
		{method: "GET", url: "/api/v1/namespaces/a/pods/b/proxy/x/y",
			want: want{verb: "get", version: "v1", resource: "pods", subresource: "proxy/x/y", namespace: "a", name: "b"}},
		{method: "GET", url: "/api/v1/namespaces", want: want{verb: "list", version: "v1", resource: "namespaces"}},
		{method: "DELETE", url: "/api/v1/namespaces/a", want: want{verb: "delete", version: "v1", resource: "namespaces", name: "a"}},
		{method: "PUT", url: "/api/v1/namespaces/a/finalize",
			want: want{verb: "update", version: "v1", resource: "namespaces", subresource: "finalize", name: "a"}},
		{method: "PATCH", url: "/apis/apps/v1/namespaces/a/deployments/b/scale",
			want: want{verb: "patch", group: "apps", version: "v1", resource: "deployments", subresource: "scale", namespace: "a", name: "b"}},
		{method: "POST", url: "/apis/apps/v1/namespaces/a/deployments",
			want: want{verb: "create", group: "apps", version: "v1", resource: "deployments", namespace: "a"}},
		{method: "DELETE", url: "/apis/apps/v1/namespaces/a/deployments",
			want: want{verb: "deletecollection", group: "apps", version: "v1", resource: "deployments", namespace: "a"}},
		{method: "GET", url: "/apis/g/v2/status", want: want{verb: "list", group: "g", version: "v2", resource: "status"}},
		{method: "GET", url: "/", other: true},
		{method: "GET", url: "/api", other: true},
		{method: "GET", url: "/api/v1", other: true},
		{method: "GET", url: "/apis/apps/v1", other: true},
		{method: "GET", url: "/api/v1/watch", other: true},
		{method: "GET", url: "/version", other: true},
		{method: "GET", url: "/api/v1/pods//x", other: true},
	} {
		r, ok := parseRequest(httptest.NewRequest(c.method, c.url, http.NoBody))
		if ok == c.other {
			t.Errorf("%s %s: names a resource = %v", c.method, c.url, ok)
			continue
		}
		if c.other {
			continue
		}
		got := want{r.verb, r.group, r.version, r.resource, r.subresource, r.namespace, r.name}
		if got != c.want {
			t.Errorf("%s %s:\n got %+v\nwant %+v", c.method, c.url, got, c.want)
		}
	}
}
