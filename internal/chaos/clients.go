package chaos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// What is written and watched.
var (
	namespaces = []string{"chaos-a", "chaos-b", "chaos-c"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	gizmos     = schema.GroupVersionResource{Group: "chaos.example.com", Version: "v1", Resource: "gizmos"}
)

// clients reach the server directly, past the faults.
type clients struct {
	typed    kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

func newClients(n *network, cfg *rest.Config) (*clients, error) {
	own, err := n.own(cfg, true)
	if err != nil {
		return nil, err
	}
	own.QPS = -1
	c := &clients{}
	if c.typed, err = kubernetes.NewForConfig(own); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfig(own); err != nil {
		return nil, err
	}
	c.metadata, err = metadata.NewForConfig(own)
	return c, err
}

// prepare makes the namespaces and the custom resource.
func (c *clients) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, name := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := c.typed.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	definitions := c.dynamic.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, gizmoDefinition(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for {
		if _, err := c.dynamic.Resource(gizmos).List(ctx, metav1.ListOptions{}); err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait until gizmos are served: %w", ctx.Err())
		}
	}
}

func gizmoDefinition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gizmos." + gizmos.Group},
		"spec": map[string]any{
			"group": gizmos.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
}

// version is the server's present one.
func (c *clients) version(ctx context.Context) (uint64, error) {
	list, err := c.metadata.Resource(configMaps).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(list.ResourceVersion, 10, 64)
}

// Lists as the informers' types have them.

func (c *clients) listPods(in []string, o metav1.ListOptions) func(context.Context) (runtime.Object, error) {
	return func(ctx context.Context) (runtime.Object, error) {
		all := &corev1.PodList{}
		for _, ns := range in {
			l, err := c.typed.CoreV1().Pods(ns).List(ctx, o)
			if err != nil {
				return nil, err
			}
			all.Items = append(all.Items, l.Items...)
		}
		return all, nil
	}
}

func (c *clients) listConfigMaps(in []string, o metav1.ListOptions) func(context.Context) (runtime.Object, error) {
	return func(ctx context.Context) (runtime.Object, error) {
		all := &corev1.ConfigMapList{}
		for _, ns := range in {
			l, err := c.typed.CoreV1().ConfigMaps(ns).List(ctx, o)
			if err != nil {
				return nil, err
			}
			all.Items = append(all.Items, l.Items...)
		}
		return all, nil
	}
}

func (c *clients) listUnstructured(gvr schema.GroupVersionResource, o metav1.ListOptions) func(context.Context) (runtime.Object, error) {
	return func(ctx context.Context) (runtime.Object, error) { return c.dynamic.Resource(gvr).List(ctx, o) }
}

func (c *clients) listMetadata(gvr schema.GroupVersionResource) func(context.Context) (runtime.Object, error) {
	return func(ctx context.Context) (runtime.Object, error) {
		return c.metadata.Resource(gvr).List(ctx, metav1.ListOptions{})
	}
}
