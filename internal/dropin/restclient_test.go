package dropin

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/metadata"
	fakemetadata "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
)

var config = &rest.Config{Host: "http://127.0.0.1:1"}

// TestRESTClients: the field is where it is expected in this client-go. When this
// fails, informers still work, through objects.
func TestRESTClients(t *testing.T) {
	given, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		t.Fatal(err)
	}
	if got := RESTClientOfDynamic(dynamic.New(given)); got != given {
		t.Errorf("the dynamic client has %v, and was given %v", got, given)
	}
	if got := RESTClientOfMetadata(metadata.NewForConfigOrDie(config)); got == nil {
		t.Error("the metadata client's REST client was not found")
	}
}

// TestNoRESTClients: what is not client-go's own, or not as expected, has none.
func TestNoRESTClients(t *testing.T) {
	var noDynamic *dynamic.DynamicClient
	var noMetadata *metadata.Client
	scheme := runtime.NewScheme()
	for name, got := range map[string]rest.Interface{
		"nil":                   RESTClientOfDynamic(nil),
		"nil pointer":           RESTClientOfDynamic(noDynamic),
		"without":               RESTClientOfDynamic(dynamic.New(nil)),
		"with a nil pointer":    RESTClientOfDynamic(dynamic.New((*rest.RESTClient)(nil))),
		"fake":                  RESTClientOfDynamic(fakedynamic.NewSimpleDynamicClient(scheme)),
		"somebody else's":       RESTClientOfDynamic(struct{ dynamic.Interface }{dynamic.NewForConfigOrDie(config)}),
		"metadata, nil":         RESTClientOfMetadata(nil),
		"metadata, nil pointer": RESTClientOfMetadata(noMetadata),
		"metadata, fake":        RESTClientOfMetadata(fakemetadata.NewSimpleMetadataClient(scheme)),
		"no such field":         field(&struct{ other rest.Interface }{}),
		"a field of its own":    field(&struct{ client int }{7}),
	} {
		if got != nil {
			t.Errorf("%s: found %v", name, got)
		}
	}
}
