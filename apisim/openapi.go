package apisim

import (
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serveOpenAPI answers /openapi/v3 with just enough for kubectl to learn that
// the server checks fields itself, so that it need not download schemas: for
// each kind a patch operation with the parameter fieldValidation.
func (s *Server) serveOpenAPI(w http.ResponseWriter, path string) {
	if path = strings.Trim(strings.TrimPrefix(path, "/openapi/v3"), "/"); path == "" {
		s.serveOpenAPIIndex(w)
		return
	}
	paths := map[string]any{}
	for _, r := range s.store.served() {
		if pathOf(r.gvr.GroupVersion()) == path {
			paths[r.objectPath()] = patchOperation(r.gvk)
		}
	}
	if len(paths) == 0 {
		notFound(w)
		return
	}
	writeJSON(w, map[string]any{
		"openapi":    "3.0.0",
		"info":       openAPIInfo,
		"paths":      paths,
		"components": map[string]any{"schemas": map[string]any{}},
	})
}

var openAPIInfo = map[string]any{"title": "Kubernetes", "version": simulatedVersion}

// openAPIv2Media is the protobuf form of the older document.
const openAPIv2Media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

// serveOpenAPIv2 answers /openapi/v2 with a document that describes nothing: what
// kubectl reads when it does not find a kind in /openapi/v3, before it says that
// there is no such kind.
func serveOpenAPIv2(w http.ResponseWriter, h *http.Request) {
	if !strings.Contains(h.Header.Get("Accept"), openAPIv2Media) {
		writeJSON(w, map[string]any{"swagger": "2.0", "info": openAPIInfo, "paths": map[string]any{}})
		return
	}
	// swagger, and info with its title and version, by their numbers.
	text := func(to []byte, number protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), value)
	}
	info := text(text(nil, 1, "Kubernetes"), 2, simulatedVersion)
	w.Header().Set("Content-Type", strings.Replace(openAPIv2Media, "@", ".", 1)) // which alone is a legal media type
	_, _ = w.Write(text(text(nil, 1, "2.0"), 2, string(info)))
}

func (s *Server) serveOpenAPIIndex(w http.ResponseWriter) {
	paths := map[string]any{}
	for _, r := range s.store.served() {
		path := pathOf(r.gvr.GroupVersion())
		paths[path] = map[string]any{"serverRelativeURL": "/openapi/v3/" + path}
	}
	writeJSON(w, map[string]any{"paths": paths})
}

// pathOf is where a group version is served, without a leading slash.
func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

func (r *resource) objectPath() string {
	path := "/" + pathOf(r.gvr.GroupVersion())
	if r.namespaced {
		path += "/namespaces/{namespace}"
	}
	return path + "/" + r.gvr.Resource + "/{name}"
}

func patchOperation(gvk schema.GroupVersionKind) any {
	return map[string]any{"patch": map[string]any{
		"parameters": []any{map[string]any{
			"name": "fieldValidation", "in": "query", "schema": map[string]any{"type": "string"},
		}},
		"responses": map[string]any{"200": map[string]any{"description": "OK"}},
		"x-kubernetes-group-version-kind": map[string]any{
			"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind,
		},
	}}
}
