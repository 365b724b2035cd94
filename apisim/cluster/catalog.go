package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/internal/objects"
)

// catalog is the list of all applications that a cluster could run.
type catalog struct {
	generator *objects.Generator
	opts      objects.Options
}

func newCatalog(o objects.Options) *catalog {
	return &catalog{generator: objects.New(o), opts: o}
}

// app is one entry of the catalog.
type app struct {
	catalog     *catalog
	workload    *workload
	deployment  *appsv1.Deployment
	statefulSet *appsv1.StatefulSet
}

// app returns entry i: every fourth is a StatefulSet.
func (c *catalog) app(i int) *app {
	a := &app{catalog: c}
	var meta *metav1.ObjectMeta
	var replicas *int32
	var template *corev1.PodTemplateSpec
	var selector map[string]string
	kind := deployment
	if i%4 == 3 {
		kind, a.statefulSet = statefulSet, c.generator.StatefulSet(i/4).DeepCopy()
		spec := &a.statefulSet.Spec
		meta, replicas, template, selector = &a.statefulSet.ObjectMeta, spec.Replicas, &spec.Template, spec.Selector.MatchLabels
	} else {
		a.deployment = c.generator.Deployment(i - i/4).DeepCopy()
		spec := &a.deployment.Spec
		meta, replicas, template, selector = &a.deployment.ObjectMeta, spec.Replicas, &spec.Template, spec.Selector.MatchLabels
	}
	meta.ResourceVersion = ""
	hash := fingerprint(template)
	a.workload = &workload{
		objectName: objectName{meta.Namespace, meta.Name}, kind: kind, replicas: int(*replicas),
		generation: 1, revision: 1, template: template, hash: hash, settled: hash, selector: selector,
	}
	meta.Generation = 1
	if a.deployment != nil {
		meta.Annotations[revisionAnnotation] = "1"
		a.deployment.Status.ObservedGeneration = 1
	} else {
		s := &a.statefulSet.Status
		s.ObservedGeneration, s.CurrentRevision, s.UpdateRevision = 1, meta.Name+"-"+hash, meta.Name+"-"+hash
	}
	return a
}

// object is the Deployment or StatefulSet of the application.
func (a *app) object() runtime.Object {
	if a.deployment != nil {
		return a.deployment
	}
	return a.statefulSet
}

// begin is the object as a user posts it.
func (a *app) begin() runtime.Object {
	if a.deployment != nil {
		a.deployment.Status = appsv1.DeploymentStatus{}
	} else {
		a.statefulSet.Status = appsv1.StatefulSetStatus{}
	}
	return a.object()
}

// size is how many objects emit gives.
func (a *app) size() int {
	size := 4 + a.workload.replicas
	if a.deployment != nil {
		size++
	}
	return size
}

// emit gives all objects of the application as they are when all pods are
// ready, owners before what they own, to a function that returns their uid. It
// returns the pods.
func (a *app) emit(nodes []*node, now time.Time, yield func(runtime.Object) (types.UID, error)) ([]*pod, error) {
	w := a.workload
	r := rand.New(rand.NewPCG(uint64(a.catalog.opts.Seed), mix(w.name, 0)))
	for _, obj := range a.companions() {
		if _, err := yield(obj); err != nil {
			return nil, err
		}
	}
	var err error
	if w.uid, err = yield(a.object()); err != nil {
		return nil, err
	}
	if w.kind == deployment {
		set := newReplicaSet(w, int32(w.replicas))
		n := int32(w.replicas)
		set.Generation = 1
		set.CreationTimestamp = a.deployment.CreationTimestamp
		set.Status = appsv1.ReplicaSetStatus{Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n, ObservedGeneration: 1}
		uid, err := yield(set)
		if err != nil {
			return nil, err
		}
		w.sets = []*replicaSet{{name: set.Name, uid: uid, hash: w.hash, replicas: w.replicas, revision: 1, written: fmt.Sprint(w.replicas, w.replicas)}}
		w.written = fmt.Sprint(1, w.replicas, w.replicas, w.replicas, w.replicas)
	} else {
		w.written = fmt.Sprint(1, w.replicas, w.replicas, w.replicas, w.hash, w.hash)
	}
	pods := make([]*pod, w.replicas)
	for i := range pods {
		if pods[i], err = a.emitPod(r, nodes, i, now, yield); err != nil {
			return nil, err
		}
	}
	w.template = nil
	return pods, nil
}

func (a *app) emitPod(r *rand.Rand, nodes []*node, i int, now time.Time, yield func(runtime.Object) (types.UID, error)) (*pod, error) {
	w := a.workload
	name := w.name + "-" + strconv.Itoa(i)
	if w.kind == deployment {
		name = fmt.Sprintf("%s-%s", w.sets[0].name, letters(mix(w.hash, i), 5))
	}
	p := &pod{
		objectName: objectName{w.namespace, name}, workload: w, hash: w.hash, ordinal: i, stage: podReady,
		node: r.IntN(len(nodes)), generation: 1, containers: w.template.Spec.Containers,
		uid: types.UID(name), // until the real one is known
	}
	obj := w.newPod(name, i)
	obj.Generation = 1
	obj.Spec.NodeName = nodes[p.node].name
	started := now.Add(-time.Duration(1+r.Int64N(30*24*3600)) * time.Second)
	obj.CreationTimestamp = metav1.NewTime(started.Truncate(time.Second))
	obj.Status = p.status(podReady, started.Add(10*time.Second).Truncate(time.Second))
	obj.Status.StartTime = &obj.CreationTimestamp
	var err error
	p.uid, err = yield(obj)
	p.containers = nil
	return p, err
}

// companions are the objects next to a workload, which do not move much.
func (a *app) companions() []runtime.Object {
	w := a.workload
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: w.selector}
	}
	return []runtime.Object{
		&corev1.ConfigMap{ObjectMeta: meta(w.name + "-config"), Data: map[string]string{"SHARD_COUNT": "16", "LOG_LEVEL": "info"}},
		&corev1.Secret{ObjectMeta: meta(w.name + "-secrets"), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"token": []byte(letters(mix(w.hash, -1), 12))}},
		&corev1.Service{ObjectMeta: meta(w.name), Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: w.selector,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		}},
	}
}

// namespaces are those that applications live in.
func (c *catalog) namespaces() []*corev1.Namespace {
	all := slices.Collect(c.generator.Namespaces())
	for _, ns := range all {
		ns.ResourceVersion = ""
	}
	return append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}})
}

// ground is what every cluster has: nodes and their leases.
func (c *catalog) ground(yield func(runtime.Object) error) error {
	for n := range c.generator.Nodes(c.opts.Nodes) {
		n.ResourceVersion = ""
		if err := yield(n); err != nil {
			return err
		}
		seconds, name, renewed := int32(40), n.Name, metav1.NewMicroTime(c.opts.Now)
		if err := yield(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: n.Name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
		}); err != nil {
			return err
		}
	}
	return nil
}

func mix(text string, i int) uint64 {
	sum := uint64(i)*0x9e3779b97f4a7c15 + 1
	for k := range len(text) {
		sum = (sum ^ uint64(text[k])) * 1099511628211
	}
	return sum ^ sum>>29
}
