package apisim

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var bindingGVK = schema.GroupVersionKind{Version: "v1", Kind: "Binding"}

// bindingView is the binding subresource seen as a resource of its own.
var bindingView = &resource{
	gvr:        schema.GroupVersionResource{Version: "v1", Resource: "bindings"},
	gvk:        bindingGVK,
	namespaced: true,
	store:      newCollection(schema.GroupResource{}, typedCodec{bindingGVK}, 1),
}

// handleBinding puts a pod on a node.
func (s *Server) handleBinding(w http.ResponseWriter, r *request) error {
	if r.verb != "create" {
		return errNoMethod()
	}
	view := *r
	view.served = bindingView
	obj, err := readObject(w, &view, metav1.FieldValidationIgnore)
	if err != nil {
		return err
	}
	node := obj.(*corev1.Binding).Target.Name
	if node == "" {
		return badRequest("the binding of pod %s names no node in target.name", r.name)
	}
	_, _, err = s.update(r.served, r.key(), r.name, updateOptions{subresource: "binding", manager: managerOf(r), patch: true},
		func(old runtime.Object) (runtime.Object, error) { return bound(r.served, old, node) })
	if err != nil {
		return err
	}
	writeStatus(w, r.http, http.StatusCreated, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Code:     http.StatusCreated,
	})
	return nil
}

func bound(res *resource, old runtime.Object, node string) (runtime.Object, error) {
	pod := old.DeepCopyObject().(*corev1.Pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return nil, apierrors.NewConflict(res.gr(), pod.Name, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name))
	case pod.Spec.NodeName != "":
		return nil, apierrors.NewConflict(res.gr(), pod.Name, fmt.Errorf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName))
	}
	pod.Spec.NodeName = node
	return pod, nil
}
