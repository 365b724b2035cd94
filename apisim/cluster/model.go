package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kinds of workload.
const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
)

type objectName struct{ namespace, name string }

// workload is a Deployment or a StatefulSet, and what belongs to it.
type workload struct {
	objectName
	kind string
	uid  types.UID
	// generation is the latest that the model has read or made.
	generation int64
	replicas   int
	// hash names the pod template that is needed.
	hash     string
	revision int
	// stale: the object on the server says something new. gone: it is deleted,
	// and what belongs to it has to go. reborn: another one has taken the name.
	// unsure: it may have sets and pods that the model does not know of.
	stale, gone, reborn, unsure bool
	// foreign: somebody else has made it. It is looked after, but no story
	// happens to it.
	foreign bool
	// template is kept only while there is work that needs it.
	template *corev1.PodTemplateSpec
	selector map[string]string
	// sets are the ReplicaSets of a Deployment, oldest first.
	sets []*replicaSet
	pods []*pod
	// settled is the hash that all pods of a StatefulSet had last.
	settled string
	// written is the status on the server, empty while it is not known.
	written string
	queued  bool
}

func key(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

func (w *workload) key() string { return key(w.kind, w.namespace, w.name) }

type replicaSet struct {
	name     string
	uid      types.UID
	hash     string
	replicas int
	revision int
	written  string // the status on the server, empty while it is not known
}

// pod is a pod of a workload, or one without an owner (workload nil).
type pod struct {
	objectName
	uid      types.UID
	workload *workload
	hash     string
	ordinal  int // in a StatefulSet
	node     int
	// generation is that of the spec, as far as the model knows it.
	generation int64
	stage      stage
	restarts   int
	// crashes is how many times it is still going to crash.
	crashes int
	// containers are known only while the pod is on its way.
	containers []corev1.Container
	queued     bool
}

// current is the ReplicaSet of the wanted template, or nil.
func (w *workload) current() *replicaSet {
	i := slices.IndexFunc(w.sets, func(s *replicaSet) bool { return s.hash == w.hash })
	if i < 0 {
		return nil
	}
	return w.sets[i]
}

// count returns how many pods of a template are there, terminating ones left
// out, and how many are ready. The empty hash stands for all templates.
func (w *workload) count(hash string) (present, ready int) {
	for _, p := range w.pods {
		if p.stage == terminating || hash != "" && p.hash != hash {
			continue
		}
		present++
		if p.stage == podReady {
			ready++
		}
	}
	return present, ready
}

func (c *Cluster) addWorkload(w *workload) {
	c.workloads = append(c.workloads, w)
	c.byName[w.key()] = w
}

func (c *Cluster) removeWorkload(w *workload) {
	if i := slices.Index(c.workloads, w); i >= 0 {
		c.workloads = slices.Delete(c.workloads, i, i+1)
	}
	delete(c.byName, w.key())
	if w.reborn {
		c.adopt(w.kind, w.namespace, w.name, true)
	}
}

func (c *Cluster) addPod(p *pod) {
	c.pods[p.uid] = p
	if p.workload != nil {
		p.workload.pods = append(p.workload.pods, p)
	}
}

// dropPod forgets a pod that is no longer on the server.
func (c *Cluster) dropPod(p *pod) {
	delete(c.pods, p.uid)
	if w := p.workload; w != nil {
		w.pods = slices.DeleteFunc(w.pods, func(other *pod) bool { return other == p })
		c.queue(w)
	}
	p.stage = podGone
}

// fingerprint names a pod template. It takes in what people change and leaves
// out what servers add, so that reading a template back gives the same name.
func fingerprint(t *corev1.PodTemplateSpec) string {
	h := fnv.New64a()
	text := func(s string) { fmt.Fprintf(h, "%d %s\n", len(s), s) }
	for _, m := range []map[string]string{t.Labels, t.Annotations} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			text(k)
			text(m[k])
		}
	}
	for _, list := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range list {
			text(list[i].Name)
			text(list[i].Image)
			text(fmt.Sprint(list[i].Command, list[i].Args))
			for _, e := range list[i].Env {
				text(e.Name)
				text(e.Value)
			}
		}
	}
	return letters(h.Sum64(), 10)
}

// letters writes a number in the letters that the API server makes names of.
func letters(sum uint64, n int) string {
	const safe = "bcdfghjklmnpqrstvwxz2456789"
	name := make([]byte, n)
	for i := range name {
		name[i] = safe[sum%uint64(len(safe))]
		sum /= uint64(len(safe))
	}
	return string(name)
}

// encode makes the body of a patch.
func encode(body any) []byte {
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("cluster: a patch that is no JSON: %v", err)) // plain maps and API types only
	}
	return data
}

// task is something with unfinished work.
type task interface {
	// do makes at most one write. It returns false when nothing is left to do
	// until something else happens.
	do(ctx context.Context, c *Cluster) (more bool, err error)
	// waiting is where the task notes that it is in the queue.
	waiting() *bool
}

func (w *workload) waiting() *bool { return &w.queued }
func (p *pod) waiting() *bool      { return &p.queued }

// queue has a task done soon. A task is queued once.
func (c *Cluster) queue(t task) {
	if waiting := t.waiting(); !*waiting {
		*waiting = true
		c.tasks = append(c.tasks, t)
	}
}
