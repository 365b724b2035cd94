package cluster

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// do makes the one write that brings the workload nearer to what it should be.
func (w *workload) do(ctx context.Context, c *Cluster) (bool, error) {
	if w.gone {
		return w.cleanUp(ctx, c)
	}
	if w.stale || w.unsure || w.template == nil {
		if err := w.read(ctx, c); err != nil {
			return false, err
		}
		if w.gone {
			return true, nil
		}
	}
	act := w.deploymentAct
	if w.kind == statefulSet {
		act = w.statefulSetAct
	}
	more, err := act(ctx, c)
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		// There is less, or more, than the model knows of: read it all again.
		w.stale, w.unsure = true, true
		return true, nil
	}
	if err == nil && !more && w.quiet() {
		w.template = nil
	}
	return more, err
}

// quiet: nothing is under way.
func (w *workload) quiet() bool {
	_, ready := w.count("")
	return ready == w.replicas && ready == len(w.pods)
}

// read takes over what the server says of the workload.
func (w *workload) read(ctx context.Context, c *Cluster) error {
	var meta metav1.ObjectMeta
	var replicas *int32
	var template corev1.PodTemplateSpec
	var selector *metav1.LabelSelector
	var err error
	if w.kind == deployment {
		var d *appsv1.Deployment
		if d, err = c.client.AppsV1().Deployments(w.namespace).Get(ctx, w.name, metav1.GetOptions{}); err == nil {
			meta, replicas, template, selector = d.ObjectMeta, d.Spec.Replicas, d.Spec.Template, d.Spec.Selector
		}
	} else {
		var s *appsv1.StatefulSet
		if s, err = c.client.AppsV1().StatefulSets(w.namespace).Get(ctx, w.name, metav1.GetOptions{}); err == nil {
			meta, replicas, template, selector = s.ObjectMeta, s.Spec.Replicas, s.Spec.Template, s.Spec.Selector
		}
	}
	switch {
	case apierrors.IsNotFound(err) || err == nil && meta.DeletionTimestamp != nil:
		w.gone = true
		return nil
	case err != nil:
		return failure("read", w.kind, w.objectName, err)
	case w.uid != "" && w.uid != meta.UID:
		w.gone, w.reborn = true, true
		return nil
	}
	w.unsure = w.unsure || w.uid == "" // new to the model
	w.uid, w.generation, w.stale = meta.UID, meta.Generation, false
	w.template, w.hash = &template, fingerprint(&template)
	w.replicas = 1
	if replicas != nil {
		w.replicas = int(*replicas)
	}
	if selector != nil {
		w.selector = selector.MatchLabels
	}
	if !w.unsure {
		return nil
	}
	err = w.readBelongings(ctx, c)
	w.unsure = err != nil
	return err
}

// readBelongings takes over the sets of the workload, and the pods that the model
// does not know.
func (w *workload) readBelongings(ctx context.Context, c *Cluster) error {
	own := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(w.selector).String()}
	if w.kind == deployment {
		sets, err := c.client.AppsV1().ReplicaSets(w.namespace).List(ctx, own)
		if err != nil {
			return failure("list the ReplicaSets of", w.kind, w.objectName, err)
		}
		w.sets = nil
		for i := range sets.Items {
			s := &sets.Items[i]
			if ref := metav1.GetControllerOf(s); ref == nil || ref.UID != w.uid {
				continue
			}
			set := &replicaSet{name: s.Name, uid: s.UID, hash: s.Labels[appsv1.DefaultDeploymentUniqueLabelKey]}
			if s.Spec.Replicas != nil {
				set.replicas = int(*s.Spec.Replicas)
			}
			_, _ = fmt.Sscan(s.Annotations[revisionAnnotation], &set.revision)
			w.revision = max(w.revision, set.revision)
			w.sets = append(w.sets, set)
		}
		slices.SortFunc(w.sets, func(a, b *replicaSet) int { return a.revision - b.revision })
	}
	pods, err := c.client.CoreV1().Pods(w.namespace).List(ctx, own)
	if err != nil {
		return failure("list the Pods of", w.kind, w.objectName, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if ref := metav1.GetControllerOf(p); c.pods[p.UID] == nil && ref != nil && w.owns(ref.UID) {
			c.addPod(w.takeOver(p, len(c.nodes)))
		}
	}
	w.sortPods()
	for _, p := range w.pods {
		c.queue(p)
	}
	return nil
}

// owns reports whether an owner is the workload or one of its sets.
func (w *workload) owns(owner types.UID) bool {
	return owner != "" && (owner == w.uid || slices.ContainsFunc(w.sets, func(s *replicaSet) bool { return s.uid == owner }))
}

// takeOver makes the model of a pod that is on the server.
func (w *workload) takeOver(p *corev1.Pod, nodes int) *pod {
	out := &pod{
		objectName: objectName{p.Namespace, p.Name}, uid: p.UID, workload: w, stage: stageOf(p),
		generation: p.Generation, containers: p.Spec.Containers,
	}
	out.hash = p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if w != nil && w.kind == statefulSet {
		out.hash = p.Labels[appsv1.ControllerRevisionHashLabelKey]
		_, _ = fmt.Sscan(p.Labels[appsv1.PodIndexLabel], &out.ordinal)
	}
	if nodes > 0 {
		out.node = int(p.UID[0]) % nodes
	}
	return out
}

func (w *workload) sortPods() {
	slices.SortStableFunc(w.pods, func(a, b *pod) int { return a.ordinal - b.ordinal })
}

// adopt takes a workload into the model that is on the server.
func (c *Cluster) adopt(kind, namespace, name string, foreign bool) {
	w := &workload{objectName: objectName{namespace, name}, kind: kind, stale: true, foreign: foreign}
	c.addWorkload(w)
	c.queue(w)
}

// cleanUp does what the garbage collector does after the workload is deleted.
func (w *workload) cleanUp(ctx context.Context, c *Cluster) (bool, error) {
	for _, p := range w.pods {
		if p.stage != terminating {
			return true, c.deletePod(ctx, p)
		}
	}
	if len(w.sets) > 0 {
		last := len(w.sets) - 1
		err := c.wrote("ReplicaSet", "delete", c.client.AppsV1().ReplicaSets(w.namespace).Delete(ctx, w.sets[last].name, metav1.DeleteOptions{}))
		if err != nil && !apierrors.IsNotFound(err) {
			return false, failure("delete", "ReplicaSet", objectName{w.namespace, w.sets[last].name}, err)
		}
		w.sets = w.sets[:last]
		return true, nil
	}
	if len(w.pods) == 0 {
		c.removeWorkload(w)
	}
	return false, nil // the last pod to go queues the workload
}

// patchSpec and patchStatus send a merge patch to the workload's own object.
func (w *workload) patchSpec(ctx context.Context, c *Cluster, kind types.PatchType, body any) error {
	var meta metav1.Object
	var err error
	if w.kind == deployment {
		meta, err = c.client.AppsV1().Deployments(w.namespace).Patch(ctx, w.name, kind, encode(body), metav1.PatchOptions{})
	} else {
		meta, err = c.client.AppsV1().StatefulSets(w.namespace).Patch(ctx, w.name, kind, encode(body), metav1.PatchOptions{})
	}
	if err := c.wrote(w.kind, "patch", err); err != nil {
		return failure("patch", w.kind, w.objectName, err)
	}
	w.generation = meta.GetGeneration()
	return nil
}

func (w *workload) patchStatus(ctx context.Context, c *Cluster, status map[string]any) error {
	body, err := encode(map[string]any{"status": status}), error(nil)
	if w.kind == deployment {
		_, err = c.client.AppsV1().Deployments(w.namespace).Patch(ctx, w.name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	} else {
		_, err = c.client.AppsV1().StatefulSets(w.namespace).Patch(ctx, w.name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	}
	return failure("patch the status of", w.kind, w.objectName, c.wrote(w.kind, "patch", err))
}
