package apisim

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateContent checks the few things beyond metadata that clients meet:
// the limit on the size of ConfigMaps and Secrets, and the schema of custom
// resources.
func validateContent(res *resource, obj runtime.Object) field.ErrorList {
	size, limit := 0, corev1.MaxSecretSize
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if res.custom != nil && res.custom.schema != nil {
			return res.custom.schema.validate(o.Object, nil, true)
		}
	case *corev1.ConfigMap:
		for _, value := range o.Data {
			size += len(value)
		}
		for _, value := range o.BinaryData {
			size += len(value)
		}
		if size > limit {
			return field.ErrorList{field.TooLong(field.NewPath(""), "", limit)}
		}
	case *corev1.Secret:
		for _, value := range o.Data {
			size += len(value)
		}
		if size > limit {
			return field.ErrorList{field.TooLong(field.NewPath("data"), "", limit)}
		}
	}
	return nil
}

// validateImmutable refuses changes of ConfigMaps and Secrets that were made
// immutable.
func validateImmutable(obj, old runtime.Object) field.ErrorList {
	var errs field.ErrorList
	forbid := func(name, text string) {
		errs = append(errs, field.Forbidden(field.NewPath(name), text))
	}
	const fixed = "field is immutable when `immutable` is set"
	same := apiequality.Semantic.DeepEqual
	switch was := old.(type) {
	case *corev1.ConfigMap:
		is := obj.(*corev1.ConfigMap)
		if was.Immutable == nil || !*was.Immutable {
			return nil
		}
		if is.Immutable == nil || !*is.Immutable {
			forbid("immutable", fixed)
		}
		if !same(is.Data, was.Data) {
			forbid("data", fixed)
		}
		if !same(is.BinaryData, was.BinaryData) {
			forbid("binaryData", fixed)
		}
	case *corev1.Secret:
		is := obj.(*corev1.Secret)
		if is.Type != was.Type {
			errs = append(errs, field.Invalid(field.NewPath("type"), is.Type, "field is immutable"))
		}
		if was.Immutable == nil || !*was.Immutable {
			return errs
		}
		if is.Immutable == nil || !*is.Immutable {
			forbid("immutable", fixed)
		}
		if !same(is.Data, was.Data) {
			forbid("data", fixed)
		}
	}
	return errs
}
