package cluster

import (
	"context"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// kindOf is the kind of an object of this package's making: all are Go types of
// the same name.
func kindOf(obj runtime.Object) string { return reflect.TypeOf(obj).Elem().Name() }

// writer has what all typed clients have.
type writer[T metav1.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

// createWith creates an object, and then writes its status, which servers ignore
// in a creation.
func createWith[T metav1.Object](ctx context.Context, c *Cluster, w writer[T], kind string, obj T, status any) (types.UID, error) {
	name := objectName{obj.GetNamespace(), obj.GetName()}
	made, err := w.Create(ctx, obj, metav1.CreateOptions{})
	if err := c.wrote(kind, "create", err); err != nil {
		return "", failure("create", kind, name, err)
	}
	if status != nil && !reflect.ValueOf(status).IsZero() {
		_, err := w.Patch(ctx, name.name, types.MergePatchType, encode(map[string]any{"status": status}), metav1.PatchOptions{}, "status")
		if err := c.wrote(kind, "patch", err); err != nil {
			return "", failure("patch the status of", kind, name, err)
		}
	}
	return made.GetUID(), nil
}

// create makes an object through the API, with its status if it has one.
func (c *Cluster) create(ctx context.Context, obj runtime.Object) (types.UID, error) {
	kind, core, apps := kindOf(obj), c.client.CoreV1(), c.client.AppsV1()
	switch o := obj.(type) {
	case *corev1.Namespace:
		return createWith(ctx, c, core.Namespaces(), kind, o, nil)
	case *corev1.Node:
		return createWith(ctx, c, core.Nodes(), kind, o, o.Status)
	case *coordinationv1.Lease:
		return createWith(ctx, c, c.client.CoordinationV1().Leases(o.Namespace), kind, o, nil)
	case *corev1.ConfigMap:
		return createWith(ctx, c, core.ConfigMaps(o.Namespace), kind, o, nil)
	case *corev1.Secret:
		return createWith(ctx, c, core.Secrets(o.Namespace), kind, o, nil)
	case *corev1.Service:
		return createWith(ctx, c, core.Services(o.Namespace), kind, o, nil)
	case *corev1.Pod:
		return createWith(ctx, c, core.Pods(o.Namespace), kind, o, o.Status)
	case *appsv1.Deployment:
		return createWith(ctx, c, apps.Deployments(o.Namespace), kind, o, o.Status)
	case *appsv1.StatefulSet:
		return createWith(ctx, c, apps.StatefulSets(o.Namespace), kind, o, o.Status)
	case *appsv1.ReplicaSet:
		return createWith(ctx, c, apps.ReplicaSets(o.Namespace), kind, o, o.Status)
	}
	return "", fmt.Errorf("create %T: no client for it", obj)
}
