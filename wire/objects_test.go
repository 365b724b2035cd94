package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// samplePod is a pod of the size and shape that servers send: about 6 KB of
// protobuf and 8 KB of JSON, half of it managedFields.
func samplePod(i int) *corev1.Pod {
	app := fmt.Sprintf("app-%d", i%7)
	yes := true
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-6d4cf56db6-%05d", app, i), GenerateName: app + "-6d4cf56db6-", Namespace: fmt.Sprintf("team-%d", i%5),
			UID: types.UID(fmt.Sprintf("0f0e0d0c-0b0a-4908-8706-%012d", i)), ResourceVersion: fmt.Sprint(100000 + i), Generation: int64(i % 3),
			CreationTimestamp: metav1.NewTime(epoch),
			Labels: map[string]string{
				"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app + "-prod", "app.kubernetes.io/version": "1.27.3",
				"pod-template-hash": "6d4cf56db6", "tier": "backend", "größe": "groß",
			},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "checksum/config": strings.Repeat("ab12", 16), "note": "line one\nline \"two\""},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "example.com/v1", Kind: "App", Name: app, UID: "first"},
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-6d4cf56db6", UID: "b9b7a1d2", Controller: &yes, BlockOwnerDeletion: &yes},
			},
			Finalizers: []string{"example.com/protect"},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%50), ServiceAccountName: app, RestartPolicy: corev1.RestartPolicyAlways,
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app}}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.%d.%d", i/250%250, i%250), HostIP: "10.0.0.7"},
	}
	if i%4 == 3 {
		deleted := metav1.NewTime(epoch.Add(time.Hour))
		pod.DeletionTimestamp = &deleted
	}
	for c := range 2 {
		pod.Spec.Containers = append(pod.Spec.Containers, sampleContainer(app, c))
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: fmt.Sprintf("c%d", c), Ready: true, Image: "registry.example.com/" + app + ":1.27.3", ContainerID: "containerd://" + strings.Repeat("9f", 32),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(epoch)}},
		})
	}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch)})
	}
	pod.ManagedFields = sampleManagedFields()
	return pod
}

func sampleContainer(app string, c int) corev1.Container {
	container := corev1.Container{
		Name: fmt.Sprintf("c%d", c), Image: "registry.example.com/" + app + ":1.27.3", Args: []string{"--listen=:8080", "--log=<json>"},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app", ReadOnly: true}},
	}
	for e := range 8 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", e), Value: fmt.Sprintf("value-%d-of-%s", e, app)})
	}
	return container
}

func sampleManagedFields() []metav1.ManagedFieldsEntry {
	when := metav1.NewTime(epoch)
	var paths []string
	for i := range 30 {
		paths = append(paths, fmt.Sprintf(`"f:field%d":{".":{},"f:nested":{},"k:{\"name\":\"c%d\"}":{"f:image":{}}}`, i, i))
	}
	fields := []byte(`{"f:metadata":{"f:labels":{".":{}}},"f:spec":{` + strings.Join(paths, ",") + `}}`)
	return []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &when, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: fields}},
		{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &when, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: fields}, Subresource: "status"},
	}
}

func sampleConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "default", UID: "u-1", ResourceVersion: "7", Labels: map[string]string{"a": ""}, ManagedFields: sampleManagedFields()},
		Data:       map[string]string{"config.yaml": "a: \"b\"\nc: {d: [1, 2]}\n", "metadata": `{"name":"not this"}`, "emoji": "🙂 \u2028"},
		BinaryData: map[string][]byte{"blob": {0, 1, 2, 255}},
	}
}

func sampleCustom() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{
			"name": "w-1", "namespace": "default", "uid": "u-2", "resourceVersion": "12", "generation": int64(4),
			"labels":            map[string]any{"color": "blue", "<html>": "a&b"},
			"deletionTimestamp": "2026-01-02T03:04:05Z",
			"ownerReferences":   []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": "u-1"}},
			"managedFields":     []any{map[string]any{"manager": "kubectl", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}},
		},
		"spec": map[string]any{"size": 1.5, "count": int64(3), "on": true, "none": nil, "list": []any{"a", map[string]any{}}, "metadata": "no"},
	}}
}

// sampleSmall has all metadata that is scanned, in few bytes, as fuzzers like it.
func sampleSmall() *metav1.PartialObjectMetadata {
	yes, when := true, metav1.NewTime(epoch)
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "a\"", Namespace: "n", UID: "u", ResourceVersion: "7", Generation: 2, DeletionTimestamp: &when, Labels: map[string]string{"k": "v", "l": "ö"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "K", Name: "o"}, {APIVersion: "g/v", Name: "c", UID: "w", Controller: &yes}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:x":{}}`)}}},
		},
	}
}

func smallList() *metav1.PartialObjectMetadataList {
	remaining := int64(3)
	return &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "c", RemainingItemCount: &remaining},
		Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a]\""}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
	}
}

var codecs = serializer.NewCodecFactory(scheme.Scheme, serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())

func serializerFor(t testing.TB, f Format) runtime.SerializerInfo {
	t.Helper()
	mediaType := runtime.ContentTypeJSON
	if f == Protobuf {
		mediaType = runtime.ContentTypeProtobuf
	}
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("no serializer for %s", mediaType)
	}
	return info
}

// encode returns obj as a server sends it as a whole body: protobuf in its envelope.
func encode(t testing.TB, f Format, obj runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := serializerFor(t, f).Serializer.Encode(obj, &b); err != nil {
		t.Fatalf("encode %T: %v", obj, err)
	}
	return b.Bytes()
}

// bare returns obj as kinform keeps it: protobuf without its envelope.
func bare(t testing.TB, f Format, obj runtime.Object) []byte {
	t.Helper()
	if f == JSON {
		return bytes.TrimSpace(encode(t, f, obj))
	}
	data, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatalf("marshal %T: %v", obj, err)
	}
	return data
}

type sampleEvent struct {
	Type EventType
	Obj  runtime.Object
}

// watchStream writes events the way a server does: encoded objects in framed WatchEvents.
func watchStream(t testing.TB, f Format, events ...sampleEvent) []byte {
	t.Helper()
	var b bytes.Buffer
	info := serializerFor(t, f)
	stream := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&b), codecs.EncoderForVersion(info.StreamSerializer.Serializer, schema.GroupVersion{Version: "v1"}))
	for _, ev := range events {
		var e runtime.Object = &metav1.WatchEvent{Type: ev.Type.String(), Object: runtime.RawExtension{Raw: encode(t, f, ev.Obj)}}
		if err := stream.Encode(e); err != nil {
			t.Fatalf("encode event: %v", err)
		}
	}
	return b.Bytes()
}

func podList(n int) *corev1.PodList {
	remaining := int64(17)
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "4711", Continue: "next \"page\"", RemainingItemCount: &remaining},
		Items:    []corev1.Pod{},
	}
	for i := range n {
		pod := samplePod(i)
		pod.TypeMeta = metav1.TypeMeta{}
		list.Items = append(list.Items, *pod)
	}
	return list
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
