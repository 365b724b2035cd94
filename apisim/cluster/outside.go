package cluster

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// notice says that an object was seen on the server, or seen to go.
type notice struct {
	kind       string
	namespace  string
	name       string
	uid        types.UID
	generation int64
	owner      types.UID // its controller
	ending     bool      // deleted, and waiting for its end
	gone       bool
}

// notices are what was seen since the last step.
type notices struct {
	mu  sync.Mutex
	new []notice // guarded by mu
}

func (n *notices) add(note notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.new = append(n.new, note)
}

func (n *notices) take() []notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.new
	n.new = nil
	return out
}

// followed are the kinds whose changes by others matter.
var followed = map[string]schema.GroupVersionResource{
	deployment:  {Group: "apps", Version: "v1", Resource: "deployments"},
	statefulSet: {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"Pod":       {Version: "v1", Resource: "pods"},
}

// follow listens to one kind until ctx ends, by its metadata alone: the
// generation reports whether a spec has changed. A watch that ends begins again
// with a list, which finds what has appeared; what has vanished meanwhile is
// found when it is touched.
func (c *Cluster) follow(ctx, requests context.Context, kind string) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		c.followOnce(ctx, requests, kind)
		wait.Reset(time.Second)
	}
}

// followOnce returns when the list fails or the watch ends.
func (c *Cluster) followOnce(ctx, requests context.Context, kind string) {
	client := c.meta.Resource(followed[kind])
	list, err := client.List(requests, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	for i := range list.Items {
		c.see(kind, &list.Items[i], false)
	}
	w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return
	}
	defer w.Stop()
	for {
		select {
		case event, ok := <-w.ResultChan():
			obj, isObject := event.Object.(*metav1.PartialObjectMetadata)
			if !ok || !isObject { // closed, or an error such as 410
				return
			}
			c.see(kind, obj, event.Type == watch.Deleted)
		case <-ctx.Done():
			return
		}
	}
}

func (c *Cluster) see(kind string, obj *metav1.PartialObjectMetadata, gone bool) {
	n := notice{
		kind: kind, namespace: obj.Namespace, name: obj.Name, uid: obj.UID, generation: obj.Generation,
		ending: obj.DeletionTimestamp != nil, gone: gone,
	}
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		n.owner = owner.UID
	}
	c.heard.add(n)
}

// hear compares what was seen with the model. Most of it is the echo of the
// cluster's own writes.
func (c *Cluster) hear() {
	for _, n := range c.heard.take() {
		if n.kind == "Pod" {
			c.hearPod(n)
		} else {
			c.hearWorkload(n)
		}
	}
}

func (c *Cluster) hearWorkload(n notice) {
	w := c.byName[key(n.kind, n.namespace, n.name)]
	switch {
	case w == nil && !n.gone:
		c.adopt(n.kind, n.namespace, n.name, true)
	case w == nil || w.gone || w.uid == "":
	case w.uid == n.uid && n.gone:
		w.gone = true
		c.queue(w)
	case w.uid != n.uid && !n.gone, n.generation > w.generation, n.ending:
		w.stale = true
		c.queue(w)
	}
}

func (c *Cluster) hearPod(n notice) {
	p := c.pods[n.uid]
	switch {
	case p != nil && n.gone:
		c.dropPod(p)
	case p != nil && n.ending && p.stage != terminating:
		p.stage = terminating
		c.queue(p)
	case p == nil && !n.gone:
		w := c.ownerOf(n.owner)
		if n.owner == "" || w != nil {
			c.queue(&act{begin: func(ctx context.Context) error { return c.meet(ctx, w, objectName{n.namespace, n.name}) }})
		}
	}
}

// ownerOf finds the workload that a pod belongs to. Only pods that are new to
// the model are asked for: those that somebody else has made, or whose creation
// was never answered.
func (c *Cluster) ownerOf(owner types.UID) *workload {
	for _, w := range c.workloads {
		if w.owns(owner) {
			return w
		}
	}
	return nil
}

// meet takes a pod into the model, and runs it.
func (c *Cluster) meet(ctx context.Context, w *workload, name objectName) error {
	got, err := c.client.CoreV1().Pods(name.namespace).Get(ctx, name.name, metav1.GetOptions{})
	if err != nil {
		return failure("read", "Pod", name, err)
	}
	if c.pods[got.UID] != nil || got.Status.Phase == corev1.PodSucceeded || got.Status.Phase == corev1.PodFailed {
		return nil
	}
	p := w.takeOver(got, len(c.nodes))
	c.addPod(p)
	c.queue(p)
	if w != nil {
		c.queue(w)
	}
	return nil
}
