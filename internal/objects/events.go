package objects

import (
	"fmt"
	"iter"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podEvents are what happens to pods, as the kubelet and the scheduler say it.
// The names in braces are filled in.
var podEvents = []struct {
	kind, reason, component, message string
}{
	{corev1.EventTypeNormal, "Scheduled", "default-scheduler", "Successfully assigned {pod} to {node}"},
	{corev1.EventTypeNormal, "Pulling", "kubelet", "Pulling image \"{image}\""},
	{corev1.EventTypeNormal, "Pulled", "kubelet", "Container image \"{image}\" already present on machine"},
	{corev1.EventTypeNormal, "Created", "kubelet", "Container created"},
	{corev1.EventTypeNormal, "Started", "kubelet", "Container started"},
	{corev1.EventTypeWarning, "BackOff", "kubelet", "Back-off restarting failed container in pod {pod}"},
	{corev1.EventTypeWarning, "Unhealthy", "kubelet", "Readiness probe failed: HTTP probe failed with statuscode: 503"},
	{corev1.EventTypeNormal, "Killing", "kubelet", "Stopping container"},
	{corev1.EventTypeWarning, "FailedMount", "kubelet", "MountVolume.SetUp failed for volume \"tls\" : secret not found (pod {pod})"},
}

// Events returns n events about pods of the cluster.
func (g *Generator) Events(n int) iter.Seq[*corev1.Event] {
	return func(yield func(*corev1.Event) bool) {
		for i, place := range g.places(n) {
			if !yield(place.workload.event(i, place.ordinal)) {
				return
			}
		}
	}
}

func (w *workload) event(i, ordinal int) *corev1.Event {
	r := w.g.randomFor("event", i)
	what, node, pod := pick(r, podEvents), w.g.nodeName(w.node(ordinal)), w.podName(ordinal)
	words := strings.NewReplacer("{pod}", pod, "{node}", node, "{image}", w.template.Spec.Containers[0].Image)
	last := r.before(w.g.opts.Now, time.Hour)
	first := r.before(last, 20*time.Minute)
	e := &corev1.Event{
		ObjectMeta: w.g.meta(r, 700_000, i, w.namespace, fmt.Sprintf("%s.%016x", pod, mix(uint64(i))), nil),
		InvolvedObject: corev1.ObjectReference{
			Kind: "Pod", APIVersion: "v1", Namespace: w.namespace, Name: pod, UID: w.podRandom(ordinal).uid(),
			ResourceVersion: decimal(1_000_000 + i*3), FieldPath: "spec.containers{" + w.name + "}",
		},
		Type: what.kind, Reason: what.reason, Message: words.Replace(what.message),
		Source:         corev1.EventSource{Component: what.component, Host: node},
		FirstTimestamp: stamp(first), LastTimestamp: stamp(last), Count: int32(r.between(1, 40)),
		ReportingController: what.component, ReportingInstance: node,
	}
	e.CreationTimestamp = stamp(first)
	written := *e
	written.ObjectMeta = metav1.ObjectMeta{}
	e.ManagedFields = w.g.oneManager(what.component, "v1", last, &written)
	return e
}
