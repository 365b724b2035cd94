package workloads

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/objects"
)

// manyPods makes varied pods, free of what only a server gives.
func manyPods(n int) []*corev1.Pod {
	all := take(objects.New(objects.Options{Seed: 1}).Pods(n))
	for i, p := range all {
		p = p.DeepCopy()
		p.ResourceVersion, p.DeletionTimestamp, p.Finalizers = "", nil, nil
		all[i] = p
	}
	return all
}

// updatedPods changes the status of n pods at random.
func updatedPods(l *load, n int) (change, error) {
	all := manyPods(n)
	i := 0
	return func(float64) error {
		p := all[l.chance.IntN(n)]
		i++
		heartbeat(p, i)
		return l.updateStatus(pods, p)
	}, l.create(asObjects(all)...)
}

// heartbeat changes a pod's status as a kubelet does.
func heartbeat(p *corev1.Pod, i int) {
	p.Status.Message = fmt.Sprintf("heartbeat %d", i)
	for c := range p.Status.Conditions {
		p.Status.Conditions[c].LastTransitionTime = metav1.NewTime(time.Unix(1_700_000_000+int64(i), 0))
	}
	for c := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[c].RestartCount = int32(i % 50)
	}
}

// madeAgain deletes and makes pods in turn, under the same name.
func madeAgain(l *load, n int) (change, error) {
	all := manyPods(n)
	i := 0
	return func(float64) error {
		p := all[i/2%n]
		i++
		if i%2 == 1 {
			return l.remove(pods, p)
		}
		p.UID = "" // the server gives another
		heartbeat(p, i)
		return l.create(p)
	}, l.create(asObjects(all)...)
}

// A rollout replaces the pods of one deployment.
type rollout struct {
	*load
	model *corev1.Pod
	old   []*corev1.Pod
	made  int
	// open are the writes to come for the pods that are being replaced now.
	open [][]func() error
	turn int
}

// rolledOver has one deployment of n pods whose template changes.
func rolledOver(l *load, n int) (change, error) {
	// Small pods: the server and six subjects must keep up on two cores.
	model := slices.MinFunc(manyPods(100), func(a, b *corev1.Pod) int { return a.Size() - b.Size() })
	r := &rollout{load: l, model: model}
	for i := range n {
		p := r.pod("old", i)
		r.ready(p)
		r.old = append(r.old, p)
	}
	return r.step, l.create(asObjects(r.old)...)
}

func (r *rollout) pod(template string, i int) *corev1.Pod {
	p := r.model.DeepCopy()
	p.UID = ""
	p.Name = fmt.Sprintf("shop-%s-%06x", template, i*7919)
	p.Labels["pod-template-hash"] = template
	p.Spec.NodeName = fmt.Sprintf("node-%04d", i%500)
	p.OwnerReferences[0].Name = "shop-" + template
	if template != "old" {
		p.OwnerReferences[0].UID = "11111111-2222-3333-4444-555555555555"
	}
	return p
}

func (r *rollout) ready(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", r.chance.IntN(256), r.chance.IntN(256), r.chance.IntN(256))
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	for c := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[c].ContainerID = fmt.Sprintf("containerd://%x", r.filled(32))
	}
}

// step makes one write for one of the pods in work, 50 of which are replaced at a
// time. When all are replaced, the oldest of the new ones follow.
func (r *rollout) step(float64) error {
	for len(r.open) < 50 {
		r.open = append(r.open, r.replacement())
	}
	r.turn = (r.turn + 1) % len(r.open)
	todo := r.open[r.turn]
	if err := todo[0](); err != nil {
		return err
	}
	if r.open[r.turn] = todo[1:]; len(todo) == 1 {
		r.open = slices.Delete(r.open, r.turn, r.turn+1)
	}
	return nil
}

// replacement is the writes by which a new pod takes the place of an old one.
func (r *rollout) replacement() []func() error {
	old := r.old[0]
	p := r.pod("new", r.made)
	r.made++
	r.old = append(r.old[1:], p)
	status := p.Status
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: status.Conditions}
	return []func() error{
		func() error { return r.create(p) },
		func() error { return r.mark(old) },
		func() error {
			p.Status = status
			r.ready(p)
			return r.updateStatus(pods, p)
		},
		func() error { return r.remove(pods, old) },
	}
}
