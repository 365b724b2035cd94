package objects

import (
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pods returns n pods, spread over the workloads. They are as a list would give
// them: with uid, resource version and status. To create one on a server, clear
// its ResourceVersion.
func (g *Generator) Pods(n int) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for i, place := range g.places(n) {
			if !yield(place.workload.pod(i, place.ordinal)) {
				return
			}
		}
	}
}

// place says which pod of which workload a pod of the whole cluster is.
type place struct {
	workload *workload
	ordinal  int
}

// places deals n pods out to the workloads. A workload that is full passes its
// share on to the next.
func (g *Generator) places(n int) iter.Seq2[int, place] {
	return func(yield func(int, place) bool) {
		used := make([]int, g.opts.Workloads)
		for i := range n {
			share := float64(mix(uint64(g.opts.Seed)^mix(uint64(i)))>>11) / (1 << 53)
			k := g.picker.at(share)
			for used[k] >= g.workload(k).capacity() {
				k = (k + 1) % len(used)
			}
			p := place{g.workload(k), used[k]}
			used[k]++
			if !yield(i, p) {
				return
			}
		}
	}
}

// podRandom is the stream of one pod: whoever names the pod from elsewhere (an
// event, an endpoint) draws the same uid from it first.
func (w *workload) podRandom(ordinal int) random { return w.g.randomFor("pod", w.index, ordinal) }

// podAddress is the address of a pod, hostAddress that of a node.
func (w *workload) podAddress(ordinal int) string {
	x := mix(w.family ^ mix(uint64(ordinal)))
	return fmt.Sprintf("10.%d.%d.%d", 64+x%128, byte(x>>8), 1+byte(x>>16)%254)
}

func hostAddress(node int) string { return fmt.Sprintf("172.16.%d.%d", byte(node>>8), byte(node)) }

// pod makes pod number ordinal of the workload, the i-th of the cluster.
func (w *workload) pod(i, ordinal int) *corev1.Pod {
	r := w.podRandom(ordinal)
	pod := new(corev1.Pod)
	*pod = w.pods().pod
	pod.UID = r.uid()
	pod.Name = w.podName(ordinal)
	pod.ResourceVersion = decimal(1_000_000 + i*3 + r.IntN(3))
	state, t := w.stateOf(r), timesOf(r, w.g.opts.Now, w.created)
	pod.CreationTimestamp = stamp(t.created)
	ip := w.podAddress(ordinal)
	w.setIdentity(pod, ordinal)
	mountToken(&pod.Spec, "kube-api-access-"+r.suffix(5))
	if w.pods().annotated != nil && state != statePending {
		pod.Annotations = withLabels(pod.Annotations, networkAnnotations(r.hex(64), ip))
	}
	node := w.node(ordinal)
	if state != statePending {
		pod.Spec.NodeName = w.g.nodeName(node)
	}
	w.setStatus(r, pod, state, ip, hostAddress(node), t)
	if !w.g.opts.NoManagedFields {
		pod.ManagedFields = w.podManagers(pod, state, t)
	}
	return pod
}

// setIdentity gives the pod of a StatefulSet its number.
func (w *workload) setIdentity(pod *corev1.Pod, ordinal int) {
	if w.kind != ofStatefulSet {
		return
	}
	pod.Labels = withLabels(pod.Labels, map[string]string{
		"statefulset.kubernetes.io/pod-name": pod.Name,
		"apps.kubernetes.io/pod-index":       decimal(ordinal),
	})
	pod.Spec.Hostname = pod.Name
	pod.Spec.Volumes = append(pod.Spec.Volumes[:len(pod.Spec.Volumes)-1:len(pod.Spec.Volumes)-1], dataVolume(w, ordinal))
}

func (w *workload) podManagers(pod *corev1.Pod, state podState, t times) []metav1.ManagedFieldsEntry {
	entries := make([]metav1.ManagedFieldsEntry, 0, 3)
	entries = append(entries, managedBy("kube-controller-manager", "v1", "", t.created, w.pods().created))
	if state == statePending {
		return append(entries, managedBy("kube-scheduler", "v1", "status", t.created, unschedulable()))
	}
	if w.pods().annotated != nil {
		entries = append(entries, managedBy("calico", "v1", "status", t.started, w.pods().annotated))
	}
	return append(entries, managedBy("kubelet", "v1", "status", t.changed, preparedFields().kubeletFields(&pod.Status, state)))
}
