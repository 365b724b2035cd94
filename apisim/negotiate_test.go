package apisim

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNegotiate(t *testing.T) {
	pods := &resource{gvr: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	custom := &resource{gvr: schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "things"}, custom: &customVersion{}}
	const metadata = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for _, c := range []struct {
		accept string
		of     *resource
		watch  bool
		want   mediaType // empty: not acceptable
		shape  transform
	}{
		{accept: "", of: pods, want: mediaJSON},
		{accept: "*/*", of: pods, want: mediaJSON},
		{accept: "application/*", of: pods, want: mediaJSON},
		{accept: "application/json", of: pods, want: mediaJSON},
		{accept: "application/yaml", of: pods, want: mediaYAML},
		{accept: "application/vnd.kubernetes.protobuf", of: pods, want: mediaProtobuf},
		{accept: "application/vnd.kubernetes.protobuf,application/json", of: pods, want: mediaProtobuf},
		{accept: "application/json;q=0.5,application/vnd.kubernetes.protobuf;q=0.9", of: pods, want: mediaProtobuf},
		{accept: "text/html, application/json", of: pods, want: mediaJSON},
		{accept: "text/html", of: pods},
		{accept: "garbage", of: pods},
		{accept: ";;;,,,", of: pods},
		{accept: "application/json;stream=watch", of: pods, watch: true, want: mediaJSON},
		{accept: "application/vnd.kubernetes.protobuf;stream=watch", of: pods, watch: true, want: mediaProtobuf},
		{accept: "application/json;stream=other", of: pods, watch: true},
		{accept: "application/yaml", of: pods, watch: true},
		{accept: "application/vnd.kubernetes.protobuf", of: custom},
		{accept: "application/vnd.kubernetes.protobuf,application/json", of: custom, want: mediaJSON},
		{accept: "application/vnd.kubernetes.protobuf" + metadata, of: custom, want: mediaProtobuf, shape: asMetadata},
		{accept: "application/json" + metadata, of: pods, want: mediaJSON, shape: asMetadata},
		{accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1", of: pods, want: mediaJSON, shape: asMetadataList},
		{accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2", of: pods},
		{accept: "application/json;as=Other;g=meta.k8s.io;v=v1,application/json", of: pods, want: mediaJSON},
		{accept: "application/json;as=Other;g=meta.k8s.io;v=v1", of: pods},
	} {
		h := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		h.Header.Set("Accept", c.accept)
		f, err := negotiate(&request{http: h}, c.of, c.watch)
		if f.media != c.want || f.shape != c.shape || (err == nil) != (c.want != "") {
			t.Errorf("%q for %s: %q as %d, error %v; want %q as %d", c.accept, c.of.gvr.Resource, f.media, f.shape, err, c.want, c.shape)
		}
	}
}
