package decode

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// own is a program's type, as generators of custom resources make them.
type own struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct{}
}

// metadataOnly has a method that reads protobuf, which it got from its metadata.
type metadataOnly struct {
	metav1.ObjectMeta
	Data map[string]string
}

func TestSpeaksProtobuf(t *testing.T) {
	for _, test := range []struct {
		of   any
		want bool
	}{
		{corev1.Pod{}, true},
		{corev1.PodList{}, true},
		{metav1.PartialObjectMetadata{}, true},
		{metav1.ObjectMeta{}, true},
		{unstructured.Unstructured{}, false},
		{own{}, false},
		{metadataOnly{}, false},
		{struct{ *metav1.ObjectMeta }{}, false},
	} {
		if got := SpeaksProtobuf(reflect.TypeOf(test.of)); got != test.want {
			t.Errorf("%T: %t", test.of, got)
		}
	}
}
