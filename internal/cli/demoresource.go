package cli

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/humane"
)

// demoResource is a resource that the demo watches as controllers do: typed, and
// so in protobuf. What is shown is another view of the same bytes.
type demoResource struct {
	*target
	// differs asks the server for its list and compares the cache with it, and
	// with the versions that the events add up to. It returns the number of
	// objects, and a difference, or "" if there is none.
	differs func(ctx context.Context, delivered map[string]string) (objects int, difference string, err error)
}

func demoResources(cfg *rest.Config) ([]demoResource, error) {
	protobuf := rest.CopyConfig(cfg)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return nil, err
	}
	core, apps := client.CoreV1().RESTClient(), client.AppsV1().RESTClient()
	var all []demoResource
	for _, build := range []func() (demoResource, error){
		typed[*corev1.Pod](cfg, "pods", core, &corev1.PodList{}),
		typed[*appsv1.Deployment](cfg, "deployments", apps, &appsv1.DeploymentList{}),
		typed[*appsv1.StatefulSet](cfg, "statefulsets", apps, &appsv1.StatefulSetList{}),
		typed[*corev1.Node](cfg, "nodes", core, &corev1.NodeList{}),
		typed[*corev1.Event](cfg, "events", core, &corev1.EventList{}),
	} {
		r, err := build()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// object is what the types of Kubernetes have in common.
type object interface {
	metav1.Object
	runtime.Object
}

// typed returns what makes the resource of T, which lists come from client as
// list.
func typed[T object](cfg *rest.Config, name string, client rest.Interface, list runtime.Object) func() (demoResource, error) {
	return func() (demoResource, error) {
		var inf *kinform.Informer[T]
		t, err := newTarget(name, kinform.Options{}, func(o kinform.Options) (_ *informer, err error) {
			if inf, err = kinform.New[T](cfg, o); err != nil {
				return nil, err
			}
			return kinform.View[*unstructured.Unstructured](inf)
		})
		return demoResource{t, func(ctx context.Context, delivered map[string]string) (int, string, error) {
			list := list.DeepCopyObject()
			if err := client.Get().Resource(name).Do(ctx).Into(list); err != nil {
				return 0, "", err
			}
			listed := map[string]T{}
			err := meta.EachListItem(list, func(item runtime.Object) error {
				obj := item.(T)
				listed[keyOf(obj)] = obj
				return nil
			})
			return len(listed), difference(inf.Lister(), delivered, listed), err
		}}, err
	}
}

func keyOf(obj metav1.Object) string {
	if ns := obj.GetNamespace(); ns != "" {
		return ns + "/" + obj.GetName()
	}
	return obj.GetName()
}

// difference names a difference between a cache, what its events add up to, and
// a server's list; "" if there is none.
func difference[T object](cache kinform.Lister[T], delivered map[string]string, listed map[string]T) string {
	if n := cache.Len(); n != len(listed) {
		return fmt.Sprintf("it has %s, the server %d", humane.Count(n, "object"), len(listed))
	}
	if len(delivered) != len(listed) {
		return fmt.Sprintf("the events add up to %s, the server has %d", humane.Count(len(delivered), "object"), len(listed))
	}
	for key, got := range cache.All() {
		want, ok := listed[key]
		if !ok {
			return fmt.Sprintf("it has %s, the server has not", key)
		}
		// Lists do not repeat the kind in each item.
		want.GetObjectKind().SetGroupVersionKind(got.GetObjectKind().GroupVersionKind())
		switch {
		case delivered[key] != want.GetResourceVersion():
			return fmt.Sprintf("of %s version %s was delivered, the server has %s", key, delivered[key], want.GetResourceVersion())
		case !equality.Semantic.DeepEqual(got, want):
			return fmt.Sprintf("%s is not the same: %s", key, firstField(got, want))
		}
	}
	return ""
}

// firstField names a field in which two objects differ.
func firstField(a, b any) string {
	before, errBefore := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	after, errAfter := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	fields := diff.Compare(before, after)
	if errBefore != nil || errAfter != nil || len(fields) == 0 {
		return "bookkeeping"
	}
	return fieldText(palette{}, worthALine(fields)[0], 0)
}
