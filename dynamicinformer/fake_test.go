package dynamicinformer_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"

	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/internal/dropin/dropintest"
)

func object(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

// TestFakeClient: a fake is served through its objects.
func TestFakeClient(t *testing.T) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), object("default", "first"))
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(pods).Informer()
	defer running(t, factory)()
	dropintest.Await(t, informer, "the fake's object", dropintest.Has("default/first"))
}
