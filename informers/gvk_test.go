package informers_test

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// gvkOf returns what the scheme calls an object.
func gvkOf(obj runtime.Object) schema.GroupVersionKind {
	known, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic(err)
	}
	return known[0]
}
