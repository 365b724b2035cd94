package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// act is the beginning of a story: something that a user does, or that happens.
type act struct {
	begin  func(ctx context.Context) error
	queued bool
}

func (a *act) waiting() *bool { return &a.queued }

func (a *act) do(ctx context.Context, _ *Cluster) (bool, error) {
	return retired(a.begin(ctx))
}

// anyStory chooses what happens next.
func (c *Cluster) anyStory() task {
	size := len(c.pods) + 3*len(c.workloads)
	if len(c.workloads) == 0 || size < c.opts.Objects/2 {
		return c.newApp()
	}
	w := c.workloads[c.rand.IntN(len(c.workloads))]
	if w.gone || w.foreign || w.uid == "" {
		return w
	}
	switch n := c.rand.IntN(100); {
	case n < 30:
		return &act{begin: func(ctx context.Context) error { return w.rollOut(ctx, c) }}
	case n < 55:
		return &act{begin: func(ctx context.Context) error { return w.scale(ctx, c) }}
	case n < 80 && len(w.pods) > 0:
		p := w.pods[c.rand.IntN(len(w.pods))]
		p.crashes += 1 + c.rand.IntN(3)
		return p
	case n < 86 && len(w.pods) > 0:
		p := w.pods[c.rand.IntN(len(w.pods))]
		return &act{begin: func(ctx context.Context) error { return c.deletePod(ctx, p) }}
	case n < 90 && len(c.nodes) > 0:
		failing := c.nodes[c.rand.IntN(len(c.nodes))]
		failing.failing = true
		return failing
	case n < 94 && len(c.settings) > 0:
		return &act{begin: c.changeSettings}
	case n < 97 || size < c.opts.Objects:
		return c.newApp()
	default:
		return &act{begin: func(ctx context.Context) error { return w.remove(ctx, c) }}
	}
}

// rollOut gives the workload a new image.
func (w *workload) rollOut(ctx context.Context, c *Cluster) error {
	if w.template == nil {
		if err := w.read(ctx, c); err != nil || w.gone {
			c.queue(w)
			return err
		}
	}
	image := fmt.Sprintf("registry.example.com/apps/%s:%d.%d.%d", w.name, c.rand.IntN(9), c.rand.IntN(40), c.rand.IntN(20))
	err := w.patchSpec(ctx, c, types.JSONPatchType, []any{
		map[string]any{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image},
	})
	if err == nil {
		w.template.Spec.Containers[0].Image = image
		w.hash = fingerprint(w.template)
		c.queue(w)
	}
	return err
}

// scale changes the number of replicas by a few.
func (w *workload) scale(ctx context.Context, c *Cluster) error {
	replicas := min(max(w.replicas+c.rand.IntN(7)-3, 1), 25)
	if replicas == w.replicas {
		replicas++
	}
	err := w.patchSpec(ctx, c, types.MergePatchType, map[string]any{"spec": map[string]any{"replicas": replicas}})
	if err == nil {
		w.replicas = replicas
		c.queue(w)
	}
	return err
}

// remove deletes the workload's object; the rest follows.
func (w *workload) remove(ctx context.Context, c *Cluster) error {
	var err error
	if w.kind == deployment {
		err = c.client.AppsV1().Deployments(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{})
	} else {
		err = c.client.AppsV1().StatefulSets(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{})
	}
	if err := c.wrote(w.kind, "delete", err); err != nil && !apierrors.IsNotFound(err) {
		return failure("delete", w.kind, w.objectName, err)
	}
	w.gone = true
	c.queue(w)
	return nil
}

// newApp makes a workload whose pods follow.
func (c *Cluster) newApp() task {
	app := c.catalog.app(c.nextApp)
	c.nextApp++
	tried := false
	return &act{begin: func(ctx context.Context) error {
		_, err := c.create(ctx, app.begin())
		if apierrors.IsAlreadyExists(err) && tried { // the answer to an earlier attempt was lost
			err = nil
		}
		tried = true
		if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) { // the name is taken, or the namespace gone
			return nil
		}
		if err != nil {
			return err
		}
		if w := c.byName[app.workload.key()]; w != nil {
			w.foreign = false // it was seen before it was known to be ours
			return nil
		}
		c.adopt(app.workload.kind, app.workload.namespace, app.workload.name, false)
		return nil
	}}
}

// changeSettings changes a line of a ConfigMap.
func (c *Cluster) changeSettings(ctx context.Context) error {
	i := c.rand.IntN(len(c.settings))
	name := c.settings[i]
	body := encode(map[string]any{"data": map[string]any{"SHARD_COUNT": fmt.Sprint(c.rand.IntN(1_000)), "UPDATED_AT": c.now().UTC().String()}})
	_, err := c.client.CoreV1().ConfigMaps(name.namespace).Patch(ctx, name.name, types.MergePatchType, body, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		c.settings = append(c.settings[:i], c.settings[i+1:]...)
		return nil
	}
	return failure("patch", "ConfigMap", name, c.wrote("ConfigMap", "patch", err))
}
