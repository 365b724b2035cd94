package dropin_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	clientdynamic "k8s.io/client-go/dynamic/dynamicinformer"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	clientmetadata "k8s.io/client-go/metadata/metadatainformer"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/metadatainformer"
)

func wantText(t *testing.T, d cache.Description, want ...string) {
	t.Helper()
	text := strings.Join(strings.Fields(d.String()), " ")
	for _, words := range want {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, d)
		}
	}
}

// TestFactoriesDescribeTheirInformers: what is asked of the server, and who shares
// a watch with whom.
func TestFactoriesDescribeTheirInformers(t *testing.T) {
	b := newBench(t)
	cfg, h := b.user("alice")
	clientset, err := kubernetes.NewForConfigAndClient(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), h)
	if err != nil {
		t.Fatal(err)
	}
	typed := informers.NewSharedInformerFactoryWithOptions(clientset, time.Hour, informers.WithNamespace("default"), informers.WithTweakListOptions(selecting("app=web")))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, "default", selecting("app=web"))
	meta := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	one := typed.Core().V1().ConfigMaps().Informer()
	typed.Core().V1().Nodes().Informer()
	foreign := typed.InformerFor(&corev1.Secret{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return clientinformers.NewSharedInformerFactory(c, resync).Core().V1().Secrets().Informer()
	})
	two := untyped.ForResource(configMaps).Informer()
	three := meta.ForResource(configMaps).Informer()
	tweaked := b.typed(cfg, h, func(o *metav1.ListOptions) { o.Limit = 1 })

	descriptions, err := informers.Describe(typed)
	if err != nil || len(descriptions) != 3 {
		t.Fatalf("%d descriptions, %v", len(descriptions), err)
	}
	wantText(t, descriptions[0], "resource configmaps.v1", "namespaces default", "labels app=web", "encoding json", "started no", "resync every 1h0m0s", "shares a watch with nobody")
	wantText(t, descriptions[1], "resource nodes.v1", "namespaces all", "labels app=web", "encoding protobuf, else json")
	wantText(t, descriptions[2], "which is not kinform's")

	defer b.run(one)()
	defer b.run(two)()
	defer b.run(three)()
	b.wantWatches(2, "second", one, two, three)
	descriptions, _ = informers.Describe(typed)
	wantText(t, descriptions[0], "object type *v1.ConfigMap", "encoding json", "held as json", "shares a watch *unstructured.Unstructured", "indexes namespace", "store 2 objects", "state watching")
	if descriptions, err = dynamicinformer.Describe(untyped); err != nil || len(descriptions) != 1 {
		t.Fatalf("%d descriptions, %v", len(descriptions), err)
	}
	wantText(t, descriptions[0], "object type *unstructured.Unstructured", "shares a watch *v1.ConfigMap")
	if descriptions, err = metadatainformer.Describe(meta); err != nil || len(descriptions) != 1 {
		t.Fatalf("%d descriptions, %v", len(descriptions), err)
	}
	wantText(t, descriptions[0], "object type *v1.PartialObjectMetadata", "encoding protobuf, else json, metadata only", "shares a watch with nobody")
	wantText(t, cache.Describe(tweaked), "tweaked by github.com/kinform/kinform/internal/dropin_test.TestFactoriesDescribeTheirInformers")
	wantText(t, cache.Describe(foreign), "not kinform's")
}

func TestForeignFactoriesAreNotDescribed(t *testing.T) {
	_, err1 := informers.Describe(clientinformers.NewSharedInformerFactory(nil, 0))
	_, err2 := dynamicinformer.Describe(clientdynamic.NewDynamicSharedInformerFactory(nil, 0))
	_, err3 := metadatainformer.Describe(clientmetadata.NewSharedInformerFactory(nil, 0))
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "make the factory with kinform's") {
			t.Errorf("got %v", err)
		}
	}
}
