package metadatainformer_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata/fake"

	"github.com/kinform/kinform/internal/dropin/dropintest"
	"github.com/kinform/kinform/metadatainformer"
)

func object(namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

// TestFakeClient: a fake is served through its objects, and they go through the
// transform.
func TestFakeClient(t *testing.T) {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleMetadataClient(scheme, object("default", "first"))
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(client, 0, metadatainformer.WithTransform(mark))
	informer := factory.ForResource(pods).Informer()
	defer running(t, factory)()
	dropintest.Await(t, informer, "the fake's object", dropintest.Has("default/first"))
	wantMark(t, informer.GetIndexer().List())
}

// TestTransformOfBytes: everybody sees what it makes.
func TestTransformOfBytes(t *testing.T) {
	server := dropintest.Server(t)
	dropintest.Load(t, server, 0, 3)
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(connect(t, server.Config()), 0, metadatainformer.WithTransform(mark))
	informer := factory.ForResource(pods).Informer()
	defer running(t, factory)()
	dropintest.Await(t, informer, "the pods", dropintest.Count(3))
	wantMark(t, informer.GetIndexer().List())
}

func mark(obj any) (any, error) {
	obj.(metav1.Object).SetLabels(map[string]string{"marked": "yes"})
	return obj, nil
}

func wantMark(t *testing.T, all []any) {
	t.Helper()
	for _, obj := range all {
		if obj.(metav1.Object).GetLabels()["marked"] != "yes" {
			t.Errorf("not transformed: %v", obj)
		}
	}
}
