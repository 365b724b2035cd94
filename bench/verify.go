package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
)

// verify syncs an informer and compares each of its objects with what the server
// lists. It returns how many are equal; one that is not is an error.
func verify(ctx context.Context, t task) (int, any, error) {
	pods, err := kinform.New[*corev1.Pod](t.Config.config(), kinform.Options{})
	if err != nil {
		return 0, nil, err
	}
	go func() { _ = pods.Run(context.WithoutCancel(ctx)) }()
	if err := pods.WaitSynced(ctx); err != nil {
		return 0, nil, err
	}
	client, err := kubernetes.NewForConfig(t.Config.config())
	if err != nil {
		return 0, nil, err
	}
	equal, next := 0, ""
	for {
		page, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1000, Continue: next})
		if err != nil {
			return equal, nil, err
		}
		for i := range page.Items {
			want := &page.Items[i]
			held, err := pods.Lister().Namespace(want.Namespace).Get(want.Name)
			if err != nil {
				return equal, nil, err
			}
			got := *held
			got.TypeMeta = want.TypeMeta
			if !equality.Semantic.DeepEqual(&got, want) {
				return equal, nil, fmt.Errorf("%s/%s differs from what the server lists", want.Namespace, want.Name)
			}
			equal++
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	if n := pods.Lister().Len(); n != equal {
		return equal, nil, fmt.Errorf("the cache has %d objects, the server lists %d", n, equal)
	}
	return equal, pods, nil
}
