package cache

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// isExpired: the server has forgotten the version.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isTooLarge: the server has not seen the version yet. Old servers say so in
// words only.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsTimeout(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	const words = "Too large resource version"
	for _, cause := range status.Status().Details.Causes {
		if cause.Message == words {
			return true
		}
	}
	return strings.Contains(status.Status().Message, words)
}

// isWorthWaiting: the server is unreachable or busy. The request was right, and a
// list would only add to the load.
func isWorthWaiting(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// isTable: the answer is a Table, made for people to read, and not an object.
func isTable(obj runtime.Object) bool {
	switch obj.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
	default:
		return false
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	return kind == metav1.SchemeGroupVersion.WithKind("Table") || kind == metav1beta1.SchemeGroupVersion.WithKind("Table")
}
