package apisim

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is one resource in one version of its group, as it is served.
type resource struct {
	gvr        schema.GroupVersionResource
	gvk        schema.GroupVersionKind
	listKind   string // default: the kind with List after it
	singular   string
	namespaced bool
	traits     traits
	store      *collection
	custom     *customVersion // nil for built-in types
}

func (r *resource) gr() schema.GroupResource { return r.gvr.GroupResource() }

func (r *resource) listKindName() string {
	if r.listKind != "" {
		return r.listKind
	}
	return r.gvk.Kind + "List"
}

// key is the place of an object in its collection.
func (r *resource) key(namespace, name string) string {
	if r.namespaced {
		return namespace + "/" + name
	}
	return name
}

// splitKey is the opposite of key.
func splitKey(key string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return namespace, name
	}
	return "", key
}

// metaOf returns the metadata of an object that came through a codec, all of
// which have some.
func metaOf(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return m
}

func setVersion(obj runtime.Object, version uint64) {
	metaOf(obj).SetResourceVersion(strconv.FormatUint(version, 10))
}
