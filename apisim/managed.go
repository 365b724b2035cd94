package apisim

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// managerOf is the field manager of a request: what it says, or else the first part of
// its user agent.
func managerOf(r *request) string {
	if name := r.http.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	name, _, _ := strings.Cut(r.http.UserAgent(), "/")
	return name
}

// manage notes in an object's managed fields who has written which of its fields; old is
// nil for a new object. What one writes, the others no longer own. Lists are owned as a
// whole, as there is no schema that would say how their items are called.
func (s *Server) manage(res *resource, old, obj runtime.Object, o updateOptions) error {
	if !s.options.ManagedFields {
		return nil
	}
	changed, removed, err := compareFields(old, obj)
	if err != nil {
		return err
	}
	self := metav1.ManagedFieldsEntry{
		Manager: o.manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: res.gvk.GroupVersion().String(),
		FieldsType: "FieldsV1", Subresource: o.subresource,
	}
	meta := metaOf(obj)
	var kept []metav1.ManagedFieldsEntry
	own := fieldpath.NewSet()
	for _, e := range meta.GetManagedFields() {
		set := fieldpath.NewSet()
		if e.FieldsV1 != nil {
			if err := set.FromJSON(bytes.NewReader(e.FieldsV1.Raw)); err != nil {
				return err
			}
		}
		if e.Manager == self.Manager && e.Operation == self.Operation && e.Subresource == self.Subresource && e.APIVersion == self.APIVersion {
			own, self.Time = set.Difference(removed), e.Time
			continue
		}
		if set = set.Difference(removed).Difference(changed); set.Empty() {
			continue
		}
		if e, err = withFields(e, set); err != nil {
			return err
		}
		kept = append(kept, e)
	}
	if !changed.Empty() {
		at := now()
		self.Time = &at
	}
	if own = own.Union(changed); !own.Empty() {
		if self, err = withFields(self, own); err != nil {
			return err
		}
		kept = append(kept, self)
	}
	slices.SortFunc(kept, func(a, b metav1.ManagedFieldsEntry) int {
		if c := a.Time.Compare(b.Time.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Manager+a.Subresource, b.Manager+b.Subresource)
	})
	meta.SetManagedFields(kept)
	return nil
}

func withFields(e metav1.ManagedFieldsEntry, set *fieldpath.Set) (metav1.ManagedFieldsEntry, error) {
	raw, err := set.ToJSON()
	e.FieldsV1 = &metav1.FieldsV1{Raw: raw}
	return e, err
}

// compareFields returns the fields that obj has and old has not, or has otherwise, and
// those that only old has.
func compareFields(old, obj runtime.Object) (changed, removed *fieldpath.Set, err error) {
	is, err := fieldsOf(obj)
	if err != nil {
		return nil, nil, err
	}
	was, err := fieldsOf(old)
	if err != nil {
		return nil, nil, err
	}
	c, err := was.Compare(is)
	if err != nil {
		return nil, nil, err
	}
	return c.Added.Union(c.Modified).Leaves(), c.Removed, nil
}

// fieldsOf returns the fields of an object that somebody can own.
func fieldsOf(obj runtime.Object) (*typed.TypedValue, error) {
	fields := map[string]any{}
	if obj != nil {
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, err
		}
		fields = runtime.DeepCopyJSON(all)
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	if meta, ok := fields["metadata"].(map[string]any); ok {
		for _, name := range []string{
			"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
			"deletionTimestamp", "deletionGracePeriodSeconds",
		} {
			delete(meta, name)
		}
	}
	return typed.DeducedParseableType.FromUnstructured(fields)
}
