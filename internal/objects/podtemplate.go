package objects

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podTemplate is what the pods of a workload share, ready to be copied.
type podTemplate struct {
	// pod has everything but what sets siblings apart.
	pod corev1.Pod
	// images are the ids of the containers' images, init containers first.
	images []string
	// created is the FieldsV1 document of the controller that made the pod,
	// annotated that of the network plugin, or nil.
	created, annotated []byte
	// crashes is the share of pods that crash.
	crashes float64
}

func newPodTemplate(r random, w *workload) *podTemplate {
	posted := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels: w.podLabels(), Annotations: w.template.Annotations,
			OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		Spec: w.template.Spec,
	}
	if w.kind != ofStatefulSet {
		posted.GenerateName = w.owner.Name + "-"
	} else {
		posted.Spec.Volumes = append(slices.Clone(posted.Spec.Volumes), dataVolume(w, 0))
		posted.Spec.Subdomain = w.name
		posted.Spec.Hostname = w.name
	}
	t := &podTemplate{crashes: 0.01}
	if r.chance(0.05) {
		t.crashes = 0.6
	}
	for range len(posted.Spec.InitContainers) + len(posted.Spec.Containers) {
		t.images = append(t.images, r.hex(64))
	}
	if !w.g.opts.NoManagedFields {
		t.created = fieldsOf(&posted)
	}
	if r.chance(0.5) {
		t.annotated = fieldsOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: networkAnnotations("x", "x")}})
	}
	t.pod = admitted(posted, w)
	return t
}

// admitted fills in what the API server adds to a posted pod.
func admitted(pod corev1.Pod, w *workload) corev1.Pod {
	yes, priority, preempt := true, int32(0), corev1.PreemptLowerPriority
	patience := int64(300)
	pod.Namespace, pod.Generation = w.namespace, 1
	pod.Spec.EnableServiceLinks, pod.Spec.Priority, pod.Spec.PreemptionPolicy = &yes, &priority, &preempt
	pod.Spec.Tolerations = []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &patience},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &patience},
	}
	pod.Status.QOSClass = corev1.PodQOSBurstable
	return pod
}

// dataVolume is the claim of a StatefulSet's pod.
func dataVolume(w *workload, ordinal int) corev1.Volume {
	return corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
		ClaimName: "data-" + w.name + "-" + decimal(ordinal),
	}}}
}

func networkAnnotations(containerID, ip string) map[string]string {
	return map[string]string{
		"cni.projectcalico.org/containerID": containerID,
		"cni.projectcalico.org/podIP":       ip + "/32",
		"cni.projectcalico.org/podIPs":      ip + "/32",
	}
}

// mountToken adds the volume of the service account's token, whose name differs
// from pod to pod, to all containers; it copies what it changes.
func mountToken(spec *corev1.PodSpec, name string) {
	spec.Volumes = append(slices.Clip(spec.Volumes), corev1.Volume{Name: name, VolumeSource: tokenSource})
	spec.InitContainers = withMount(spec.InitContainers, name)
	spec.Containers = withMount(spec.Containers, name)
}

func withMount(containers []corev1.Container, name string) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		c.VolumeMounts = append(slices.Clip(c.VolumeMounts), corev1.VolumeMount{
			Name: name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		})
	}
	return containers
}

var tokenSource = func() corev1.VolumeSource {
	lifetime, mode := int64(3607), int32(0o644)
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &lifetime, Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
		}}},
	}}}
}()

// withLabels returns base with more added; base is not changed.
func withLabels(base, more map[string]string) map[string]string {
	out := make(map[string]string, len(base)+len(more))
	maps.Copy(out, base)
	maps.Copy(out, more)
	return out
}

// kubeletFields is the FieldsV1 document of the kubelet for a status like
// this one. Siblings differ in their address alone.
func (f *statusFields) kubeletFields(s *corev1.PodStatus, state podState) []byte {
	form := f.forms[state][min(len(s.InitContainerStatuses), 1)]
	return bytes.ReplaceAll(form, []byte(anyAddress), []byte(s.PodIP))
}

// anyAddress stands for a pod's address in the prepared documents.
const anyAddress = "0.0.0.0"
