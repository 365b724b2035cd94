package objects

import (
	"fmt"
	"iter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ofKind returns the first n workloads of a kind.
func (g *Generator) ofKind(kind string, n int) iter.Seq2[int, *workload] {
	return func(yield func(int, *workload) bool) {
		for i := range n {
			if !yield(i, g.nth(kind, i)) {
				return
			}
		}
	}
}

// nth returns workload i of a kind.
func (g *Generator) nth(kind string, i int) *workload {
	places := kindPlaces[kind]
	return g.workload(i/len(places)*kindCycle + places[i%len(places)])
}

// meta is the metadata of the workload's own object, the i-th of its kind.
func (w *workload) meta(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: w.namespace, Name: w.name, UID: w.uid, Generation: int64(w.revision),
		ResourceVersion: decimal(500_000 + i*5), CreationTimestamp: stamp(w.created),
		Labels: w.template.Labels,
		Annotations: map[string]string{
			"meta.helm.sh/release-name":      w.name,
			"meta.helm.sh/release-namespace": w.namespace,
		},
	}
}

// twoManagers are the author of a workload, who wrote all but the status, and
// the controller, who wrote the status.
func (w *workload) twoManagers(apiVersion string, written, status any) []metav1.ManagedFieldsEntry {
	if w.g.opts.NoManagedFields {
		return nil
	}
	changed := w.g.randomFor("managed", w.index).before(w.g.opts.Now, w.g.opts.Now.Sub(w.created))
	return []metav1.ManagedFieldsEntry{
		managedBy(w.template.Labels["app.kubernetes.io/managed-by"], apiVersion, "", w.created, fieldsOf(written)),
		managedBy("kube-controller-manager", apiVersion, "status", changed, fieldsOf(status)),
	}
}

// Deployments returns n deployments, the owners of the ReplicaSets.
func (g *Generator) Deployments(n int) iter.Seq[*appsv1.Deployment] { return sequence(n, g.Deployment) }

// Deployment returns number i of the Deployments.
func (g *Generator) Deployment(i int) *appsv1.Deployment { return g.nth(ofReplicaSet, i).deployment(i) }

func (w *workload) deployment(i int) *appsv1.Deployment {
	quarter, replicas, history, deadline := intstr.FromString("25%"), w.replicas(), int32(10), int32(600)
	d := &appsv1.Deployment{
		ObjectMeta: w.meta(i),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: w.selector}, Template: w.template,
			RevisionHistoryLimit: &history, ProgressDeadlineSeconds: &deadline,
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &quarter, MaxSurge: &quarter},
			},
		},
	}
	written := *d
	progress := stamp(w.created.Add(time.Minute))
	d.Annotations = withLabels(d.Annotations, map[string]string{"deployment.kubernetes.io/revision": decimal(w.revision)})
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.", LastUpdateTime: progress, LastTransitionTime: progress},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: fmt.Sprintf("ReplicaSet %q has successfully progressed.", w.owner.Name), LastUpdateTime: progress, LastTransitionTime: stamp(w.created)},
		},
	}
	d.ManagedFields = w.twoManagers("apps/v1", writtenBy(&written), &appsv1.Deployment{Status: d.Status})
	return d
}

// writtenBy strips what the server, not the author, puts into the metadata.
func writtenBy[T metav1.Object](obj T) T {
	obj.SetUID("")
	obj.SetName("")
	obj.SetNamespace("")
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	obj.SetCreationTimestamp(metav1.Time{})
	return obj
}

// ReplicaSets returns n replica sets: for each Deployment the current one, which
// owns pods, and the empty ones of earlier rollouts.
func (g *Generator) ReplicaSets(n int) iter.Seq[*appsv1.ReplicaSet] {
	return func(yield func(*appsv1.ReplicaSet) bool) {
		made := 0
		for _, w := range g.ofKind(ofReplicaSet, n) {
			for age := range min(w.revision, 4) {
				if made == n || !yield(w.replicaSet(made, age)) {
					return
				}
				made++
			}
		}
	}
}

// replicaSet makes the ReplicaSet of the rollout that lies age rollouts back.
func (w *workload) replicaSet(i, age int) *appsv1.ReplicaSet {
	replicas, name, uid, hash := w.replicas(), w.owner.Name, w.owner.UID, w.hash
	template := *w.template.DeepCopy()
	if age > 0 {
		r := w.g.randomFor("replicaset", w.index, age)
		replicas, uid, hash = 0, r.uid(), r.suffix(10)
		name = w.name + "-" + hash
		template.Annotations["checksum/config"] = r.hex(64)
	}
	template.Labels["pod-template-hash"] = hash
	yes := true
	rs := &appsv1.ReplicaSet{ObjectMeta: w.meta(i), Spec: appsv1.ReplicaSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: withLabels(w.selector, map[string]string{"pod-template-hash": hash})}, Template: template,
	}}
	rs.Name, rs.UID, rs.Labels, rs.ResourceVersion = name, uid, template.Labels, decimal(600_000+i*5)
	rs.Annotations = withLabels(rs.Annotations, map[string]string{
		"deployment.kubernetes.io/revision":         decimal(w.revision - age),
		"deployment.kubernetes.io/desired-replicas": decimal(int(w.replicas())),
		"deployment.kubernetes.io/max-replicas":     decimal(int(w.replicas()) + 1),
	})
	rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: w.name, UID: w.uid, Controller: &yes, BlockOwnerDeletion: &yes}}
	written := *rs
	rs.Status = appsv1.ReplicaSetStatus{Replicas: replicas, FullyLabeledReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas, ObservedGeneration: rs.Generation}
	rs.ManagedFields = w.twoManagers("apps/v1", writtenBy(&written), &appsv1.ReplicaSet{Status: rs.Status})
	return rs
}

// StatefulSets returns n stateful sets.
func (g *Generator) StatefulSets(n int) iter.Seq[*appsv1.StatefulSet] {
	return sequence(n, g.StatefulSet)
}

// StatefulSet returns number i of the StatefulSets.
func (g *Generator) StatefulSet(i int) *appsv1.StatefulSet {
	return g.nth(ofStatefulSet, i).statefulSet(i)
}

func (w *workload) statefulSet(i int) *appsv1.StatefulSet {
	replicas, partition, history, filesystem := w.replicas(), int32(0), int32(10), corev1.PersistentVolumeFilesystem
	s := &appsv1.StatefulSet{ObjectMeta: w.meta(i), Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: w.selector}, Template: w.template,
		ServiceName: w.name, PodManagementPolicy: appsv1.OrderedReadyPodManagement, RevisionHistoryLimit: &history,
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			TypeMeta:   metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeMode: &filesystem,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(50<<30, resource.BinarySI)}},
			},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
		}},
	}}
	written := *s
	revision := w.name + "-" + w.hash
	s.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: replicas, ReadyReplicas: replicas, CurrentReplicas: replicas, UpdatedReplicas: replicas,
		AvailableReplicas: replicas, CurrentRevision: revision, UpdateRevision: revision, CollisionCount: new(int32),
	}
	s.ManagedFields = w.twoManagers("apps/v1", writtenBy(&written), &appsv1.StatefulSet{Status: s.Status})
	return s
}

// DaemonSets returns n daemon sets.
func (g *Generator) DaemonSets(n int) iter.Seq[*appsv1.DaemonSet] {
	return sequence(n, func(i int) *appsv1.DaemonSet { return g.nth(ofDaemonSet, i).daemonSet(i) })
}

func (w *workload) daemonSet(i int) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: w.meta(i), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: w.selector}, Template: w.template,
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType},
	}}
	written, nodes := *d, int32(w.g.opts.Nodes)
	d.Status = appsv1.DaemonSetStatus{
		DesiredNumberScheduled: nodes, CurrentNumberScheduled: nodes, UpdatedNumberScheduled: nodes,
		NumberReady: nodes, NumberAvailable: nodes, ObservedGeneration: d.Generation,
	}
	d.ManagedFields = w.twoManagers("apps/v1", writtenBy(&written), &appsv1.DaemonSet{Status: d.Status})
	return d
}

// Jobs returns n jobs.
func (g *Generator) Jobs(n int) iter.Seq[*batchv1.Job] {
	return sequence(n, func(i int) *batchv1.Job { return g.nth(ofJob, i).job(i) })
}

func (w *workload) job(i int) *batchv1.Job {
	one, six, indexed := int32(1), int32(6), batchv1.NonIndexedCompletion
	j := &batchv1.Job{ObjectMeta: w.meta(i), Spec: batchv1.JobSpec{
		Parallelism: &one, Completions: &one, BackoffLimit: &six, CompletionMode: &indexed,
		Selector: &metav1.LabelSelector{MatchLabels: w.selector}, Template: w.template,
	}}
	j.Spec.Template.Labels = withLabels(w.template.Labels, w.podLabels())
	written := *j
	start, end := stamp(w.created), stamp(w.created.Add(time.Duration(17+i%600)*time.Second))
	j.Status = batchv1.JobStatus{Succeeded: 1, StartTime: &start, CompletionTime: &end, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Reason: "CompletionsReached", Message: "Reached expected number of succeeded pods", LastProbeTime: end, LastTransitionTime: end},
	}}
	j.ManagedFields = w.twoManagers("batch/v1", writtenBy(&written), &batchv1.Job{Status: j.Status})
	return j
}
