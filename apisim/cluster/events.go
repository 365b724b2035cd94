package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (w *workload) reference() corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "apps/v1", Kind: w.kind, Namespace: w.namespace, Name: w.name, UID: w.uid}
}

func (p *pod) reference() corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.namespace, Name: p.name, UID: p.uid}
}

// announcement is an event that is to be posted.
type announcement struct {
	event  corev1.Event
	queued bool
}

func (a *announcement) waiting() *bool { return &a.queued }

// say has an event posted about an object.
func (c *Cluster) say(about corev1.ObjectReference, kind, reason, component, message string) {
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	at := metav1.NewTime(c.now())
	c.queue(&announcement{event: corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%016x", about.Name, c.rand.Uint64())},
		InvolvedObject: about, Type: kind, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}})
}

// keptEvents is how many events stay; real ones stay for an hour.
func (c *Cluster) keptEvents() int { return max(c.opts.Objects/5, 200) }

// do posts the event. When there are many, it first removes the oldest.
func (a *announcement) do(ctx context.Context, c *Cluster) (bool, error) {
	if len(c.posted) >= c.keptEvents() {
		oldest := c.posted[0]
		err := c.wrote("Event", "delete", c.client.CoreV1().Events(oldest.namespace).Delete(ctx, oldest.name, metav1.DeleteOptions{}))
		if err != nil && !apierrors.IsNotFound(err) {
			return false, failure("delete", "Event", oldest, err)
		}
		c.posted = c.posted[1:]
		return true, nil
	}
	name := objectName{a.event.Namespace, a.event.Name}
	_, err := c.client.CoreV1().Events(name.namespace).Create(ctx, &a.event, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) { // the namespace is gone
		return false, nil
	}
	if apierrors.IsAlreadyExists(err) { // the answer to an earlier attempt was lost
		err = nil
	}
	if err := c.wrote("Event", "create", err); err != nil {
		return false, failure("create", "Event", name, err)
	}
	c.posted = append(c.posted, name)
	return false, nil
}
