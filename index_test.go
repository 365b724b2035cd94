package kinform_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// An index by path finds what the objects have there, in every view of them.
func TestFieldIndex(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	want := map[string]int{}
	pods := slices.Collect(objects.New(objects.Options{Seed: 5}).Pods(300))
	spaces := map[string]int{}
	for _, pod := range pods {
		want[pod.Spec.NodeName]++
		spaces[pod.Namespace]++
	}
	err = server.Load(func(yield func(runtime.Object) bool) {
		for _, pod := range pods {
			if !yield(pod) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "")
	inf, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	metadata, err := kinform.View[*metav1.PartialObjectMetadata](inf)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := kinform.View[*unstructured.Unstructured](inf)
	if err != nil {
		t.Fatal(err)
	}
	before, err := inf.AddFieldIndex("before", "spec.nodeName")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	late, err := untyped.AddFieldIndex("late", ".spec.nodeName")
	if err != nil {
		t.Fatal(err)
	}
	names, err := metadata.AddFieldIndex("names", "metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]func(string) []string{
		"before": func(v string) []string { return slices.Collect(before.Keys(v)) },
		"late":   func(v string) []string { return slices.Collect(late.Keys(v)) },
	} {
		got := map[string]int{}
		for node := range want {
			got[node] = len(keys(node))
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, path := range []string{"metadata.namespace", ".metadata.namespace"} {
		byNamespace, err := inf.AddFieldIndex(path, path)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, ns := range byNamespace.Values() {
			got[ns] = len(slices.Collect(byNamespace.Keys(ns)))
		}
		if !maps.Equal(got, spaces) {
			t.Errorf("%s: %v, want %v", path, got, spaces)
		}
	}
	if n := len(names.Values()); n != 300 {
		t.Errorf("%d names, want 300", n)
	}
	if _, err := inf.AddFieldIndex("late", "status.phase"); !errors.Is(err, kinform.ErrIndexExists) {
		t.Errorf("a second index of one name: %v", err)
	}
	if _, err := inf.AddFieldIndex("wrong", "spec.nodename"); err == nil || !strings.Contains(err.Error(), `no field "nodename"`) {
		t.Errorf("a path that leads nowhere: %v", err)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
