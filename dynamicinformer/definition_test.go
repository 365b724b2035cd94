package dynamicinformer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
)

func toyDefinition(field string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "toys.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"size": map[string]any{"type": field}}}}}}},
	}}
}

func toy(name string, size any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Toy", "metadata": map[string]any{"name": name}, "size": size}}
}

// TestDefinitionDeleted is a row of docs/differences.md: the objects of a resource whose
// definition is deleted are deleted, as the server says so, and the resource is followed
// again when it is back with another schema.
func TestDefinitionDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := apisim.Start(apisim.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		client, err := dynamic.NewForConfig(server.Config())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		toys := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "toys"}
		make := func(field, name string, size any) {
			t.Helper()
			if _, err := definitions.Create(ctx, toyDefinition(field), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Resource(toys).Namespace("default").Create(ctx, toy(name, size), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		make("string", "a", "large")
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		informer := factory.ForResource(toys).Informer()
		var failures, deleted atomic.Int64
		if err := informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) { failures.Add(1) }); err != nil {
			t.Fatal(err)
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { deleted.Add(1) }}); err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		if err := definitions.Delete(ctx, "toys.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(24 * time.Hour)
		if n := len(informer.GetStore().ListKeys()); n != 0 || deleted.Load() != 1 || failures.Load() == 0 {
			t.Errorf("%d objects, %d deletions, %d failures in a day", n, deleted.Load(), failures.Load())
		}
		make("integer", "b", int64(1))
		<-time.After(time.Minute)
		if keys := informer.GetStore().ListKeys(); len(keys) != 1 || keys[0] != "default/b" {
			t.Errorf("the store has %v", keys)
		}
		cancel()
		factory.Shutdown()
	})
}

// TestVersionNoLongerServed is a row of docs/differences.md: nothing is told of objects
// whose definition is no longer served in the version that is watched. They live on in
// another one.
func TestVersionNoLongerServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := apisim.Start(apisim.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		client, err := dynamic.NewForConfig(server.Config())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		old := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "toys"}
		definition := toyDefinition("string")
		versions := definition.Object["spec"].(map[string]any)["versions"].([]any)
		next := runtime.DeepCopyJSONValue(versions[0]).(map[string]any)
		next["name"], next["storage"] = "v2", false
		definition.Object["spec"].(map[string]any)["versions"] = append(versions, next)
		made, err := definitions.Create(ctx, definition, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(old).Namespace("default").Create(ctx, toy("a", "large"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		informer := factory.ForResource(old).Informer()
		var deleted atomic.Int64
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { deleted.Add(1) }}); err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		made.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["served"] = false
		if _, err := definitions.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(24 * time.Hour) // its watches have ended long since
		if n := len(informer.GetStore().ListKeys()); n != 1 || deleted.Load() != 0 {
			t.Errorf("%d objects, %d deletions", n, deleted.Load())
		}
		cancel()
		factory.Shutdown()
	})
}
