package kinform

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupOf is the API group of each folder of k8s.io/api whose group is not the
// folder's name. Knowing them here is what keeps package kinform free of the
// scheme with all its types.
var groupOf = map[string]string{
	"core":                  "",
	"admission":             "admission.k8s.io",
	"admissionregistration": "admissionregistration.k8s.io",
	"apidiscovery":          "apidiscovery.k8s.io",
	"apiserverinternal":     "internal.apiserver.k8s.io",
	"authentication":        "authentication.k8s.io",
	"authorization":         "authorization.k8s.io",
	"certificates":          "certificates.k8s.io",
	"coordination":          "coordination.k8s.io",
	"discovery":             "discovery.k8s.io",
	"events":                "events.k8s.io",
	"flowcontrol":           "flowcontrol.apiserver.k8s.io",
	"imagepolicy":           "imagepolicy.k8s.io",
	"lifecycle":             "lifecycle.k8s.io",
	"networking":            "networking.k8s.io",
	"node":                  "node.k8s.io",
	"rbac":                  "rbac.authorization.k8s.io",
	"resource":              "resource.k8s.io",
	"scheduling":            "scheduling.k8s.io",
	"storage":               "storage.k8s.io",
	"storagemigration":      "storagemigration.k8s.io",
}

// otherPackages are packages of Kubernetes' own types outside k8s.io/api.
var otherPackages = map[string]schema.GroupVersion{
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1": {Group: "apiextensions.k8s.io", Version: "v1"},
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1":       {Group: "apiregistration.k8s.io", Version: "v1"},
}

// kindOf derives the kind of one of Kubernetes' own Go types from its package.
func kindOf(t reflect.Type) (schema.GroupVersionKind, bool) {
	if gv, ok := otherPackages[t.PkgPath()]; ok {
		return gv.WithKind(t.Name()), true
	}
	path, ok := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !ok {
		return schema.GroupVersionKind{}, false
	}
	folder, version, ok := strings.Cut(path, "/")
	if !ok {
		return schema.GroupVersionKind{}, false
	}
	group, ok := groupOf[folder]
	if !ok {
		group = folder
	}
	return schema.GroupVersionKind{Group: group, Version: version, Kind: t.Name()}, true
}

// resourceOf returns the resource that objects of type t are listed as: the one
// that was asked for, or that of a type of Kubernetes itself.
func resourceOf(t reflect.Type, asked schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	if asked.Resource != "" {
		if asked.Version == "" {
			return asked, fmt.Errorf("resource %q needs a version, too: set Options.Resource.Version", asked.Resource)
		}
		return asked, nil
	}
	gvk, ok := kindOf(t)
	if !ok {
		return asked, fmt.Errorf("%s is not a type of k8s.io/api, so Options.Resource must name its group, version and plural", t)
	}
	if _, ok := t.FieldByName("ObjectMeta"); !ok {
		return asked, fmt.Errorf("%s is no object that a server lists by name: it has no metadata of its own", t)
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural, nil
}
