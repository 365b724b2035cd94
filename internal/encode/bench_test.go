package encode

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/internal/objects"
)

// podLike is a custom resource that is as large as a pod.
type podLike struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              corev1.PodSpec   `json:"spec"`
	Status            corev1.PodStatus `json:"status"`
}

// BenchmarkEncode: what an object costs that is held as bytes, beside what the client
// had to do for it.
func BenchmarkEncode(b *testing.B) {
	var pod *corev1.Pod
	for p := range objects.New(objects.Options{Seed: 4}).Pods(1) {
		pod = served(p)
	}
	raw, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	protobuf, err := pod.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	custom, loose := &podLike{}, &unstructured.Unstructured{}
	for _, into := range []any{custom, &loose.Object} {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		obj    any
		client func() error
	}{
		{"protobuf", pod, func() error { return new(corev1.Pod).Unmarshal(protobuf) }},
		{"JSON", custom, func() error { return kjson.UnmarshalCaseSensitivePreserveInts(raw, new(podLike)) }},
		{"unstructured", loose, func() error { return kjson.UnmarshalCaseSensitivePreserveInts(raw, new(map[string]any)) }},
	} {
		b.Run(c.name+"/the client decodes it", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.client(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/it is encoded and proved", func(b *testing.B) {
			b.ReportAllocs()
			var codec Codec
			var dst []byte
			for b.Loop() {
				var ok bool
				if dst, _, ok = codec.Encode(dst[:0], c.obj); !ok {
					b.Fatal("it does not survive")
				}
			}
		})
	}
}
