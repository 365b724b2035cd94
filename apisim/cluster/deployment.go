package cluster

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// oldSets is how many ReplicaSets of earlier rollouts are kept.
	oldSets = 2
)

// deploymentAct is the Deployment controller and the ReplicaSet controller in
// one: it makes the first write that is due, in this order: the new set, its
// growth, the shrinking of the old sets, pods, statuses, the end of old sets.
func (w *workload) deploymentAct(ctx context.Context, c *Cluster) (bool, error) {
	set := w.current()
	if set == nil {
		return true, w.createSet(ctx, c)
	}
	if set.revision < w.revision { // back to an earlier template
		w.revision++
		set.revision = w.revision
		w.sortSets()
	}
	if done, err := w.moveReplicas(ctx, c, set); done || err != nil {
		return true, err
	}
	for _, s := range w.sets {
		present, _ := w.count(s.hash)
		switch {
		case present < s.replicas && s == set:
			return true, w.createPod(ctx, c, s.name+"-"+letters(c.rand.Uint64(), 5), 0)
		case present < s.replicas: // the template of an old set is not known any more
			return true, w.scaleSet(ctx, c, s, present)
		case present > s.replicas:
			return true, c.deletePod(ctx, w.leastUseful(s.hash))
		}
	}
	if done, err := w.writeStatuses(ctx, c); done || err != nil {
		return true, err
	}
	return w.dropOldSet(ctx, c)
}

func (w *workload) sortSets() {
	for i := range w.sets { // the current one is the newest
		if w.sets[i].hash == w.hash {
			set := w.sets[i]
			w.sets = append(append(w.sets[:i:i], w.sets[i+1:]...), set)
			return
		}
	}
}

// moveReplicas grows the current set and shrinks the others by what the rolling
// update allows: a quarter more pods than wanted, a quarter fewer ready.
func (w *workload) moveReplicas(ctx context.Context, c *Cluster, set *replicaSet) (bool, error) {
	surge, slack := (w.replicas+3)/4, w.replicas/4
	total, old := 0, 0
	for _, s := range w.sets {
		total += s.replicas
		if s != set {
			old += s.replicas
		}
	}
	if old == 0 && set.replicas != w.replicas {
		return true, w.scaleSet(ctx, c, set, w.replicas)
	}
	if grow := min(w.replicas-set.replicas, w.replicas+surge-total); grow > 0 {
		return true, w.scaleSet(ctx, c, set, set.replicas+grow)
	}
	if old == 0 {
		return false, nil
	}
	_, ready := w.count(set.hash)
	unready := 0 // old pods that nobody will miss
	for _, s := range w.sets {
		if s != set {
			_, n := w.count(s.hash)
			n = min(n, s.replicas) // some are about to go
			ready, unready = ready+n, unready+s.replicas-n
		}
	}
	spare := ready - (w.replicas - slack) + unready
	if spare <= 0 && total <= w.replicas+surge {
		return false, nil
	}
	for _, s := range w.sets {
		if s != set && s.replicas > 0 {
			return true, w.scaleSet(ctx, c, s, max(s.replicas-max(spare, 1), 0))
		}
	}
	return false, nil
}

// leastUseful is the pod of a set that goes first: one that is not ready, or
// else the youngest.
func (w *workload) leastUseful(hash string) *pod {
	var choice *pod
	for _, p := range w.pods {
		if p.hash != hash || p.stage == terminating {
			continue
		}
		if choice == nil || p.stage <= choice.stage {
			choice = p
		}
	}
	return choice
}

func (w *workload) createSet(ctx context.Context, c *Cluster) error {
	w.revision++
	set := newReplicaSet(w, 0)
	made, err := c.client.AppsV1().ReplicaSets(w.namespace).Create(ctx, set, metav1.CreateOptions{})
	if err := c.wrote("ReplicaSet", "create", err); err != nil {
		w.revision--
		return failure("create", "ReplicaSet", objectName{w.namespace, set.Name}, err)
	}
	w.sets = append(w.sets, &replicaSet{name: made.Name, uid: made.UID, hash: w.hash, revision: w.revision})
	return nil
}

// newReplicaSet is the object of the workload's present template.
func newReplicaSet(w *workload, replicas int32) *appsv1.ReplicaSet {
	template := w.template.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, w.hash)
	selector := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: w.hash}
	for k, v := range w.selector {
		selector[k] = v
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: w.name + "-" + w.hash, Labels: template.Labels,
			Annotations: map[string]string{
				revisionAnnotation:                          strconv.Itoa(w.revision),
				"deployment.kubernetes.io/desired-replicas": strconv.Itoa(w.replicas),
			},
			OwnerReferences: []metav1.OwnerReference{ownerRef(deployment, w.name, w.uid)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: *template},
	}
}

func ownerRef(kind, name string, uid types.UID) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes}
}

func (w *workload) scaleSet(ctx context.Context, c *Cluster, s *replicaSet, replicas int) error {
	body := encode(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			revisionAnnotation: strconv.Itoa(s.revision), "deployment.kubernetes.io/desired-replicas": strconv.Itoa(w.replicas),
		}},
		"spec": map[string]any{"replicas": replicas},
	})
	_, err := c.client.AppsV1().ReplicaSets(w.namespace).Patch(ctx, s.name, types.MergePatchType, body, metav1.PatchOptions{})
	if err := c.wrote("ReplicaSet", "patch", err); err != nil {
		return failure("scale", "ReplicaSet", objectName{w.namespace, s.name}, err)
	}
	way := "up"
	if replicas < s.replicas {
		way = "down"
	}
	c.say(w.reference(), corev1.EventTypeNormal, "ScalingReplicaSet", "deployment-controller",
		fmt.Sprintf("Scaled %s replica set %s from %d to %d", way, s.name, s.replicas, replicas))
	s.replicas = replicas
	return nil
}

// writeStatuses writes the first status that differs from the one on the server.
func (w *workload) writeStatuses(ctx context.Context, c *Cluster) (bool, error) {
	for _, s := range w.sets {
		present, ready := w.count(s.hash)
		text := fmt.Sprint(present, ready)
		if s.written == text {
			continue
		}
		body := encode(map[string]any{"status": map[string]any{
			"replicas": present, "fullyLabeledReplicas": present, "readyReplicas": ready, "availableReplicas": ready,
		}})
		s.written = ""
		_, err := c.client.AppsV1().ReplicaSets(w.namespace).Patch(ctx, s.name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
		if err := c.wrote("ReplicaSet", "patch", err); err != nil {
			return false, failure("patch the status of", "ReplicaSet", objectName{w.namespace, s.name}, err)
		}
		s.written = text
		return true, nil
	}
	present, ready := w.count("")
	updated, _ := w.count(w.hash)
	text := fmt.Sprint(w.generation, w.replicas, present, ready, updated)
	if w.written == text {
		return false, nil
	}
	w.written = ""
	if err := w.patchStatus(ctx, c, w.deploymentStatus(c.now(), present, ready, updated)); err != nil {
		return false, err
	}
	w.written = text
	return true, nil
}

func (w *workload) deploymentStatus(now time.Time, present, ready, updated int) map[string]any {
	at := metav1.NewTime(now)
	available := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastUpdateTime: at, LastTransitionTime: at,
		Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability."}
	if ready < w.replicas-w.replicas/4 {
		available.Status, available.Reason, available.Message = corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
	}
	progress := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: at, LastTransitionTime: at,
		Reason: "NewReplicaSetAvailable", Message: fmt.Sprintf("ReplicaSet %q has successfully progressed.", w.name+"-"+w.hash)}
	if updated < w.replicas || present > updated || ready < updated {
		progress.Reason, progress.Message = "ReplicaSetUpdated", fmt.Sprintf("ReplicaSet %q is progressing.", w.name+"-"+w.hash)
	}
	return map[string]any{
		"observedGeneration": w.generation, "replicas": present, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": ready,
		"unavailableReplicas": max(w.replicas-ready, 0), "conditions": []appsv1.DeploymentCondition{available, progress},
	}
}

// dropOldSet deletes the oldest empty set when there are too many.
func (w *workload) dropOldSet(ctx context.Context, c *Cluster) (bool, error) {
	if len(w.sets) <= 1+oldSets || w.sets[0].replicas > 0 || w.sets[0].hash == w.hash {
		return false, nil
	}
	name := w.sets[0].name
	err := c.client.AppsV1().ReplicaSets(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err := c.wrote("ReplicaSet", "delete", err); err != nil {
		return false, failure("delete", "ReplicaSet", objectName{w.namespace, name}, err)
	}
	w.sets = w.sets[1:]
	return true, nil
}
