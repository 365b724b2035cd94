package chaos

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// transformedKey is the label and the annotation that a transform sets.
const (
	transformedKey = "transformed"
	hidden         = "hidden"
)

// transform edits an object in all of its parts and in place, as programs do that
// save memory. Whoever else got one of these parts sees it changed.
func transform(obj any) (any, error) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("transform: %w", err)
	}
	o.SetManagedFields(nil)
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if m, ok := o.Object["metadata"].(map[string]any); ok {
			for _, name := range []string{"labels", "annotations"} {
				if in, ok := m[name].(map[string]any); ok {
					in[transformedKey] = "yes"
				}
			}
		}
		if f := fields(o); f["number"] != nil {
			f["number"] = hidden
			delete(f, "text")
		}
	case *corev1.ConfigMap:
		markInPlace(o)
		if o.Data["number"] != "" {
			o.Data["number"] = hidden
			delete(o.Data, "text")
		}
	case *corev1.Pod:
		markInPlace(o)
		for i := range o.Spec.Containers {
			o.Spec.Containers[i].Image = hidden
		}
	default:
		markInPlace(o.(metav1.Object))
	}
	return obj, nil
}

func markInPlace(o metav1.Object) {
	for _, m := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		if m != nil {
			m[transformedKey] = "yes"
		}
	}
}

// verifyTransformed is verify for readers of a transformed view.
func verifyTransformed(o metav1.Object) error {
	a := o.GetAnnotations()
	if _, ours := a[sumAnnotation]; !ours {
		return nil
	}
	if checksum(o.GetNamespace(), o.GetName(), a[numberAnnotation], a[padAnnotation]) != a[sumAnnotation] {
		return errSum
	}
	number, text, ok := written(o)
	if a[transformedKey] == "" || o.GetLabels()[transformedKey] == "" || ok && (number != hidden || text != "") {
		return errPlain
	}
	return nil
}

// equalTransformed compares an object of a transformed view with the transform of
// the server's.
func equalTransformed(have, server metav1.Object) bool {
	h, ok1 := have.(runtime.Object)
	s, ok2 := server.(runtime.Object)
	if !ok1 || !ok2 {
		return false
	}
	want := s.DeepCopyObject()
	if _, err := transform(want); err != nil {
		return false
	}
	want.GetObjectKind().SetGroupVersionKind(h.GetObjectKind().GroupVersionKind())
	return equality.Semantic.DeepEqual(h, want)
}
