package apisim

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crdGVR        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	crdGVK        = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// lookup finds the resource that answers for a path. The second result is
// false if there is none.
func (s *store) lookup(gvr schema.GroupVersionResource) (*resource, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.resources[gvr]
	return r, ok
}

// hasVersion reports whether anything built in is served in a group version.
func (s *store) hasVersion(gv schema.GroupVersion) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for gvr, r := range s.resources {
		if gvr.GroupVersion() == gv && r.builtin() {
			return true
		}
	}
	_, review := reviews[gv]
	return review
}

// hasGroup reports whether anything built in is served in any version of a group.
func (s *store) hasGroup(group string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for gvr, r := range s.resources {
		if gvr.Group == group && r.builtin() {
			return true
		}
	}
	return false
}

func (r *resource) builtin() bool { return r.custom == nil || r.gvr == crdGVR }

// served returns all resources, built-in ones first, each group together and
// sorted by name.
func (s *store) served() []*resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*resource, 0, len(s.resources))
	for _, r := range s.resources {
		out = append(out, r)
	}
	slices.SortFunc(out, compareResources)
	return out
}

// collectionsLocked goes over every collection once.
func (s *store) collectionsLocked() iter.Seq[*collection] {
	return func(yield func(*collection) bool) {
		seen := map[*collection]bool{}
		for _, r := range s.resources {
			if seen[r.store] {
				continue
			}
			seen[r.store] = true
			if !yield(r.store) {
				return
			}
		}
	}
}
