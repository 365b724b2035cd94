package objects

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kinds of workload, by what owns the pods.
const (
	ofReplicaSet  = "ReplicaSet"
	ofStatefulSet = "StatefulSet"
	ofDaemonSet   = "DaemonSet"
	ofJob         = "Job"
)

// workload is one application: everything that its pods have in common.
type workload struct {
	g         *Generator
	index     int
	kind      string
	namespace string
	// name is that of the Deployment, StatefulSet, DaemonSet or Job.
	name    string
	uid     types.UID
	created time.Time
	team    string
	version string
	// revision counts the rollouts so far; hash names the current pod template.
	revision int
	hash     string
	// owner is what the pods point to.
	owner    metav1.OwnerReference
	selector map[string]string
	// template is what the workload's author wrote, defaults filled in.
	template corev1.PodTemplateSpec
	// pods is the template of its pods, made when the first is asked for.
	pods func() *podTemplate
	// family sets the names of this workload's pods apart from the others'.
	family uint64
}

func newWorkload(g *Generator, i int) *workload {
	r := g.randomFor("workload", i)
	w := &workload{
		g: g, index: i, kind: workloadKind(i),
		namespace: g.namespace(r.IntN(g.opts.Namespaces)),
		name:      workloadName(r, i),
		uid:       r.uid(),
		team:      pick(r, teams),
		created:   r.before(g.opts.Now.Add(-24*time.Hour), 400*24*time.Hour),
		revision:  r.between(1, 40),
		family:    r.Uint64N(1 << 40),
	}
	w.version = versionOf(r)
	w.name = nameForKind(r, w)
	w.selector = map[string]string{"app.kubernetes.io/name": w.name, "app.kubernetes.io/instance": w.name}
	if w.kind == ofJob {
		w.selector = map[string]string{"batch.kubernetes.io/controller-uid": string(w.uid)}
	}
	w.template = newTemplate(r, w)
	w.hash = r.suffix(10)
	w.owner = w.ownerReference(r)
	w.pods = sync.OnceValue(func() *podTemplate { return newPodTemplate(g.randomFor("podtemplate", i), w) })
	return w
}

// kindCycle is the number of workloads after which the kinds repeat.
const kindCycle = 20

// kindPlaces are the places in the cycle that have a kind.
var kindPlaces = func() map[string][]int {
	places := map[string][]int{}
	for i := range kindCycle {
		places[workloadKind(i)] = append(places[workloadKind(i)], i)
	}
	return places
}()

// workloadKind spreads the kinds evenly, so that a small number of workloads
// has all of them.
func workloadKind(i int) string {
	switch i % kindCycle {
	case 3, 11, 17:
		return ofStatefulSet
	case 7:
		return ofDaemonSet
	case 9, 15, 19:
		return ofJob
	default:
		return ofReplicaSet
	}
}

// workloadName is unique for each i: the words repeat, the number does not.
func workloadName(r random, i int) string {
	name := pick(r, systems) + "-" + pick(r, roles)
	if i >= len(systems) || r.chance(0.3) {
		name += "-" + pick(r, languages)
	}
	return name + "-" + strings.ToLower(base36(i))
}

func nameForKind(r random, w *workload) string {
	if w.kind == ofJob { // as a CronJob names it: the minute of its schedule
		return w.name + "-" + decimal(29_000_000+r.IntN(800_000))
	}
	return w.name
}

func (w *workload) ownerReference(r random) metav1.OwnerReference {
	yes := true
	ref := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: w.kind, Name: w.name, UID: w.uid,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
	switch w.kind {
	case ofReplicaSet:
		ref.Name, ref.UID = w.name+"-"+w.hash, r.uid()
	case ofJob:
		ref.APIVersion = "batch/v1"
	}
	return ref
}

// podLabels are the labels of every pod of the workload.
func (w *workload) podLabels() map[string]string {
	labels := maps.Clone(w.template.Labels)
	switch w.kind {
	case ofReplicaSet:
		labels["pod-template-hash"] = w.hash
	case ofStatefulSet, ofDaemonSet:
		labels["controller-revision-hash"] = w.name + "-" + w.hash
	case ofJob:
		labels["batch.kubernetes.io/controller-uid"] = string(w.uid)
		labels["batch.kubernetes.io/job-name"] = w.name
		labels["controller-uid"] = string(w.uid)
		labels["job-name"] = w.name
	}
	return labels
}

// podName is the name of the workload's pod number ordinal.
func (w *workload) podName(ordinal int) string {
	switch w.kind {
	case ofStatefulSet:
		return w.name + "-" + decimal(ordinal)
	default:
		return w.owner.Name + "-" + siblingSuffix(w.family, ordinal)
	}
}

// node is the number of the node that pod ordinal runs on.
func (w *workload) node(ordinal int) int {
	if w.kind == ofDaemonSet {
		return ordinal
	}
	return int(mix(w.family+uint64(ordinal)) % uint64(w.g.opts.Nodes))
}

// capacity is how many pods the workload can have.
func (w *workload) capacity() int {
	if w.kind == ofDaemonSet {
		return w.g.opts.Nodes
	}
	return math.MaxInt
}

// replicas is the size that the workload's own object states.
func (w *workload) replicas() int32 {
	return int32(1 + mix(w.family)%12)
}

// picker spreads pods over workloads, the size of a workload falling with its
// rank, as it does on clusters: a few large, many small.
type picker struct{ upTo []float64 }

func newPicker(workloads int) picker {
	sum, upTo := 0.0, make([]float64, workloads)
	for i := range upTo {
		rank := float64((i*7919)%workloads + 12) // the large ones among all kinds
		sum += math.Pow(rank, -0.6)
		upTo[i] = sum
	}
	return picker{upTo}
}

// at returns the workload at share x, 0 ≤ x < 1, of the whole.
func (p picker) at(x float64) int {
	i, _ := slices.BinarySearch(p.upTo, x*p.upTo[len(p.upTo)-1])
	return min(i, len(p.upTo)-1)
}
