package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stage is where a pod is in its life. The stages up to podReady are in the
// order in which they are passed.
type stage int

const (
	unscheduled stage = iota
	scheduled
	creating
	crashed
	running
	podReady
	terminating
	podGone
)

// stageOf reads the stage of a pod that the model did not make.
func stageOf(p *corev1.Pod) stage {
	ready := false
	for _, cond := range p.Status.Conditions {
		ready = ready || cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue
	}
	switch {
	case p.DeletionTimestamp != nil:
		return terminating
	case p.Spec.NodeName == "":
		return unscheduled
	case ready:
		return podReady
	case p.Status.Phase == corev1.PodRunning:
		return running
	default:
		return scheduled
	}
}

// do takes the pod one stage further, as the scheduler and the kubelet do.
func (p *pod) do(ctx context.Context, c *Cluster) (bool, error) {
	if p.stage == podGone {
		return false, nil
	}
	before := p.stage
	err := p.advance(ctx, c)
	if apierrors.IsNotFound(err) {
		c.dropPod(p)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if p.workload != nil {
		c.queue(p.workload)
	}
	if p.stage == podReady && p.crashes == 0 {
		p.containers = nil
		return false, nil
	}
	return p.stage != before, nil
}

func (p *pod) advance(ctx context.Context, c *Cluster) error {
	switch p.stage {
	case unscheduled:
		return p.schedule(ctx, c)
	case scheduled:
		return p.enter(ctx, c, creating, "", "", "")
	case creating:
		return p.enter(ctx, c, running, corev1.EventTypeNormal, "Started", "Started container {name} of image {image}")
	case crashed:
		p.restarts++
		err := p.enter(ctx, c, running, "", "", "")
		if err != nil {
			p.restarts--
		}
		return err
	case running:
		return p.enter(ctx, c, podReady, "", "", "")
	case podReady:
		if p.crashes == 0 {
			return nil
		}
		err := p.enter(ctx, c, crashed, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container {name}")
		if err == nil {
			p.crashes--
		}
		return err
	case terminating:
		return p.finish(ctx, c)
	}
	return nil
}

// enter writes the status of a stage and an Event about it. In the message {name} and
// {image} stand for those of the first container.
func (p *pod) enter(ctx context.Context, c *Cluster, to stage, kind, reason, message string) error {
	if err := p.know(ctx, c); err != nil {
		return err
	}
	body := encode(asPatch(p.status(to, c.now())))
	patched, err := c.client.CoreV1().Pods(p.namespace).Patch(ctx, p.name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	if err := c.wrote("Pod", "patch", err); err != nil {
		return failure("patch the status of", "Pod", p.objectName, err)
	}
	p.stage, p.generation = to, patched.Generation
	if reason != "" {
		words := strings.NewReplacer("{name}", p.containers[0].Name, "{image}", p.containers[0].Image)
		c.say(p.reference(), kind, reason, "kubelet", words.Replace(message))
	}
	return nil
}

// know reads the containers of a pod that has been at rest.
func (p *pod) know(ctx context.Context, c *Cluster) error {
	if p.containers != nil {
		return nil
	}
	got, err := c.client.CoreV1().Pods(p.namespace).Get(ctx, p.name, metav1.GetOptions{})
	if err != nil {
		return failure("read", "Pod", p.objectName, err)
	}
	p.containers, p.generation = got.Spec.Containers, got.Generation
	if len(p.containers) == 0 {
		return fmt.Errorf("read Pod %s/%s: it has no containers", p.namespace, p.name)
	}
	return nil
}

func (p *pod) schedule(ctx context.Context, c *Cluster) error {
	if len(c.nodes) == 0 {
		return nil
	}
	p.node = c.rand.IntN(len(c.nodes))
	node := c.nodes[p.node].name
	var err error
	if !c.noBinding {
		err = c.client.CoreV1().Pods(p.namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
		c.noBinding = notSupported(err)
	}
	if c.noBinding {
		body := encode(map[string]any{"spec": map[string]any{"nodeName": node}})
		_, err = c.client.CoreV1().Pods(p.namespace).Patch(ctx, p.name, types.MergePatchType, body, metav1.PatchOptions{})
	}
	if apierrors.IsConflict(err) { // somebody else has scheduled it
		p.stage = scheduled
		return nil
	}
	if err := c.wrote("Pod", "patch", err); err != nil {
		return failure("schedule", "Pod", p.objectName, err)
	}
	p.stage = scheduled
	c.say(p.reference(), corev1.EventTypeNormal, "Scheduled", "default-scheduler",
		fmt.Sprintf("Successfully assigned %s/%s to %s", p.namespace, p.name, node))
	return nil
}

// createPod makes a pod of the workload's present template. When it fails, the pod
// may be there all the same, under a name that is not chosen again, if it was only
// the answer that was lost: the workload looks before it makes another.
func (w *workload) createPod(ctx context.Context, c *Cluster, name string, ordinal int) error {
	obj := w.newPod(name, ordinal)
	made, err := c.client.CoreV1().Pods(w.namespace).Create(ctx, obj, metav1.CreateOptions{})
	if err := c.wrote("Pod", "create", err); err != nil {
		w.unsure = true
		return failure("create", "Pod", objectName{w.namespace, name}, err)
	}
	p := &pod{
		objectName: objectName{w.namespace, name}, uid: made.UID, workload: w, hash: w.hash, ordinal: ordinal,
		generation: made.Generation, containers: made.Spec.Containers,
	}
	c.addPod(p)
	c.queue(p)
	return nil
}

// newPod is the object of one of the workload's pods, before it is scheduled.
func (w *workload) newPod(name string, ordinal int) *corev1.Pod {
	obj := &corev1.Pod{ObjectMeta: *w.template.ObjectMeta.DeepCopy(), Spec: *w.template.Spec.DeepCopy()}
	obj.Namespace, obj.Name = w.namespace, name
	if set := w.current(); set != nil {
		obj.GenerateName = set.name + "-"
		obj.OwnerReferences = []metav1.OwnerReference{ownerRef("ReplicaSet", set.name, set.uid)}
		metav1.SetMetaDataLabel(&obj.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, w.hash)
		return obj
	}
	obj.OwnerReferences = []metav1.OwnerReference{ownerRef(statefulSet, w.name, w.uid)}
	obj.Spec.Hostname, obj.Spec.Subdomain = name, w.name
	metav1.SetMetaDataLabel(&obj.ObjectMeta, appsv1.ControllerRevisionHashLabelKey, w.hash)
	metav1.SetMetaDataLabel(&obj.ObjectMeta, appsv1.StatefulSetPodNameLabel, name)
	metav1.SetMetaDataLabel(&obj.ObjectMeta, appsv1.PodIndexLabel, strconv.Itoa(ordinal))
	return obj
}

// deletePod asks for the end of a pod. On a server that keeps the pod until its
// kubelet has stopped it, finish is what the kubelet does.
func (c *Cluster) deletePod(ctx context.Context, p *pod) error {
	err := c.client.CoreV1().Pods(p.namespace).Delete(ctx, p.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.uid}})
	if err := c.wrote("Pod", "delete", err); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return failure("delete", "Pod", p.objectName, err)
	}
	p.stage = terminating
	c.queue(p)
	c.say(p.reference(), corev1.EventTypeNormal, "Killing", "kubelet", "Stopping container of pod "+p.name)
	return nil
}

func (p *pod) finish(ctx context.Context, c *Cluster) error {
	now := int64(0)
	err := c.client.CoreV1().Pods(p.namespace).Delete(ctx, p.name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.uid},
	})
	if err := c.wrote("Pod", "delete", err); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return failure("end", "Pod", p.objectName, err)
	}
	c.dropPod(p)
	return nil
}
