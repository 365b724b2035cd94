package apisim

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// request is what path, method and query ask for.
type request struct {
	http        *http.Request
	verb        string
	group       string
	version     string
	resource    string
	subresource string
	namespace   string
	name        string

	// served is the resource that answers; nil until it was looked up.
	served *resource

	// effects of the faults that apply to this request.
	effects effects
}

// parsePath splits the path of an object or collection:
//
//	/api/VERSION/…               the group without a name
//	/apis/GROUP/VERSION/…
//	    RESOURCE[/NAME[/SUBRESOURCE]]
//	    namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]
//	    watch/…                  the old way to ask for a watch
//
// It returns false for all other paths.
func parsePath(path string) (request, bool) {
	var r request
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		r.version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		r.group, r.version, parts = parts[1], parts[2], parts[3:]
	default:
		return r, false
	}
	if parts[0] == "watch" {
		r.verb = "watch"
		if parts = parts[1:]; len(parts) == 0 {
			return r, false
		}
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	r.resource = parts[0]
	if len(parts) > 1 {
		r.name = parts[1]
	}
	if len(parts) > 2 {
		r.subresource = strings.Join(parts[2:], "/")
	}
	return r, !slices.Contains(parts, "")
}

// parseRequest reads the request line. The second result is false if the
// path names no resource.
func parseRequest(h *http.Request) (*request, bool) {
	r, ok := parsePath(h.URL.Path)
	r.http = h
	if !ok {
		return &r, false
	}
	if r.resource == "namespaces" && r.group == "" {
		r.namespace = "" // a namespace is not inside itself
	}
	if r.verb != "watch" || h.Method != http.MethodGet {
		r.verb = verbOf(h, r.name != "")
	}
	return &r, true
}

func verbOf(h *http.Request, named bool) string {
	switch h.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	case http.MethodGet:
		if isTrue(h.URL.Query()["watch"]) {
			return "watch"
		}
		if named {
			return "get"
		}
		return "list"
	}
	return strings.ToLower(h.Method)
}

// isTrue reads a boolean query parameter as the real server does: present and
// not "false" or "0" is true.
func isTrue(values []string) bool {
	if len(values) == 0 {
		return false
	}
	switch strings.ToLower(values[0]) {
	case "false", "0":
		return false
	}
	return true
}

func (r *request) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.group, Version: r.version, Resource: r.resource}
}

// overall reports whether the request writes to all namespaces at once, which
// no server allows.
func (r *request) overall(res *resource) bool {
	return res.namespaced && r.namespace == "" && r.verb != "list" && r.verb != "watch"
}

// fits reports whether the request has the shape that the scope of the resource
// allows: a namespaced object is named with its namespace, an object without
// namespaces without one, a creation names its namespace.
func (r *request) fits(res *resource) bool {
	if !res.namespaced {
		return r.namespace == ""
	}
	if r.namespace == "" {
		return r.name == ""
	}
	return true
}
