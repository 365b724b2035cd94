package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/objects"
)

// verifyPods compares each pod of kinform's cache with what the server lists.
func verifyPods(ctx context.Context, t task) (metrics, error) {
	client, err := kubernetes.NewForConfig(t.Server.config())
	if err != nil {
		return nil, err
	}
	return verify(ctx, t, kinform.Options{}, func(o metav1.ListOptions) ([]*corev1.Pod, string, error) {
		page, err := client.CoreV1().Pods("").List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		var all []*corev1.Pod
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			all = append(all, &page.Items[i])
		}
		return all, page.Continue, nil
	})
}

// verifyCustom does the same with custom resources.
func verifyCustom(ctx context.Context, t task) (metrics, error) {
	client, err := dynamic.NewForConfig(t.Server.config())
	if err != nil {
		return nil, err
	}
	options := kinform.Options{Resource: objects.CustomResource}
	return verify(ctx, t, options, func(o metav1.ListOptions) ([]*unstructured.Unstructured, string, error) {
		page, err := client.Resource(objects.CustomResource).List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		var all []*unstructured.Unstructured
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		return all, page.GetContinue(), nil
	})
}

// verify syncs an informer and compares each of its objects with what the server
// lists, page by page. One that is not equal is an error.
func verify[T metav1.Object](ctx context.Context, t task, o kinform.Options, list func(metav1.ListOptions) ([]T, string, error)) (metrics, error) {
	inf, err := kinform.New[T](t.Server.config(), o)
	if err != nil {
		return nil, err
	}
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	if err := inf.WaitSynced(ctx); err != nil {
		return nil, err
	}
	// What was put into etcd directly may still be on its way through the server.
	for wait := 0; inf.Lister().Len() < t.Objects && wait < 600; wait++ {
		time.Sleep(100 * time.Millisecond)
	}
	equal, next := 0, ""
	for {
		var page []T
		if page, next, err = list(metav1.ListOptions{Limit: 1000, Continue: next}); err != nil {
			return nil, err
		}
		for _, want := range page {
			got, err := inf.Lister().Namespace(want.GetNamespace()).Get(want.GetName())
			if err != nil {
				return nil, err
			}
			if !equality.Semantic.DeepEqual(got, want) {
				return nil, fmt.Errorf("%s/%s differs from what the server lists", want.GetNamespace(), want.GetName())
			}
			equal++
		}
		if next == "" {
			break
		}
	}
	if n := inf.Lister().Len(); n != equal || n != t.Objects {
		return nil, fmt.Errorf("the cache has %d objects, the server lists %d, %d were made", n, equal, t.Objects)
	}
	return metrics{"equal": float64(equal)}, nil
}
