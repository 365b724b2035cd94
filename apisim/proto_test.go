package apisim

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/internal/objects"
)

func TestStampIsMarshal(t *testing.T) {
	codec := typedCodec{corev1.SchemeGroupVersion.WithKind("Pod")}
	for pod := range objects.Pods(1, 50) {
		pod := pod.DeepCopy()
		for _, was := range []string{"", "1", "12345678901234567890"} {
			pod.ResourceVersion = was
			data, err := codec.encode(pod)
			if err != nil {
				t.Fatal(err)
			}
			pod.ResourceVersion = "987654"
			want, err := codec.encode(pod)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.stamp(data, 987654)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("stamping %s over version %q differs from encoding it so (error %v)", pod.Name, was, err)
			}
		}
	}
}

func TestScanIsDecode(t *testing.T) {
	pods := builtinFields["Pod"]
	codec := typedCodec{corev1.SchemeGroupVersion.WithKind("Pod")}
	for pod := range objects.Pods(2, 200) {
		data, err := codec.encode(pod)
		if err != nil {
			t.Fatal(err)
		}
		o := &object{key: pod.Namespace + "/" + pod.Name, blob: plain(data)}
		if diff := cmp.Diff(pod.Labels, codec.labels(data)); diff != "" {
			t.Fatal("labels:", diff)
		}
		for field, want := range map[string]string{
			"metadata.name":           pod.Name,
			"metadata.namespace":      pod.Namespace,
			"spec.nodeName":           pod.Spec.NodeName,
			"spec.restartPolicy":      string(pod.Spec.RestartPolicy),
			"spec.schedulerName":      pod.Spec.SchedulerName,
			"spec.serviceAccountName": pod.Spec.ServiceAccountName,
			"status.phase":            string(pod.Status.Phase),
			"status.podIP":            pod.Status.PodIP,
		} {
			if got := pods[field](o); got != want {
				t.Fatalf("%s of %s is %q, want %q", field, pod.Name, got, want)
			}
		}
		metadata, err := codec.metadata(data)
		if err != nil {
			t.Fatal(err)
		}
		var partial metav1.PartialObjectMetadata
		if err := partial.Unmarshal(metadata); err != nil {
			t.Fatal(err)
		}
		var whole corev1.Pod
		if err := whole.Unmarshal(data); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.ObjectMeta, partial.ObjectMeta); diff != "" {
			t.Fatal("metadata:", diff)
		}
	}
}

// TestEnvelopes compares what we write around objects with what
// apimachinery's serializer writes.
func TestEnvelopes(t *testing.T) {
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	raw := protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
	gvk := corev1.SchemeGroupVersion.WithKind("Pod")
	for pod := range objects.Pods(3, 20) {
		item, err := typedCodec{gvk}.encode(pod)
		if err != nil {
			t.Fatal(err)
		}
		typed := pod.DeepCopy()
		typed.SetGroupVersionKind(gvk)
		var want bytes.Buffer
		if err := serializer.Encode(typed, &want); err != nil {
			t.Fatal(err)
		}
		got, err := envelope(mediaProtobuf, gvk, item)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("the envelope of %s differs (error %v)", pod.Name, err)
		}
		var event bytes.Buffer
		if err := raw.Encode(&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: want.Bytes()}}, &event); err != nil {
			t.Fatal(err)
		}
		framed := binary.BigEndian.AppendUint32(nil, uint32(event.Len()))
		framed = append(framed, event.Bytes()...)
		if got := watchFrame(mediaProtobuf, eventAdded, gvk, item); !bytes.Equal(got, framed) {
			t.Fatalf("the frame of %s differs", pod.Name)
		}
	}
}

func TestScanNeverPanics(t *testing.T) {
	codec := typedCodec{corev1.SchemeGroupVersion.WithKind("Pod")}
	for pod := range objects.Pods(4, 1) {
		data, err := codec.encode(pod)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut < len(data); cut += 13 {
			o := &object{key: "a/b", blob: plain(data[:cut])}
			codec.labels(o.data())
			_, _ = codec.metadata(o.data())
			_, _ = codec.stamp(o.data(), 5)
			for _, read := range builtinFields["Pod"] {
				read(o)
			}
		}
	}
}
