package cluster

import (
	"context"
	"fmt"
	"slices"
)

// statefulSetAct is the StatefulSet controller: pods are made in order, each
// when those before it are ready, removed from the end, and updated from the end
// to the beginning, one at a time.
func (w *workload) statefulSetAct(ctx context.Context, c *Cluster) (bool, error) {
	w.sortPods()
	if act := w.nextOfSet(c); act != nil {
		return true, act(ctx)
	}
	present, ready := w.count("")
	updated, _ := w.count(w.hash)
	if updated == present {
		w.settled = w.hash
	}
	if w.settled == "" {
		w.settled = w.hash
	}
	text := fmt.Sprint(w.generation, present, ready, updated, w.settled, w.hash)
	if text == w.written {
		return false, nil
	}
	current, _ := w.count(w.settled)
	w.written = ""
	err := w.patchStatus(ctx, c, map[string]any{
		"observedGeneration": w.generation, "replicas": present, "readyReplicas": ready, "availableReplicas": ready,
		"currentReplicas": current, "updatedReplicas": updated,
		"currentRevision": w.name + "-" + w.settled, "updateRevision": w.name + "-" + w.hash,
	})
	if err == nil {
		w.written = text
	}
	return true, err
}

// nextOfSet returns the change of pods that is due, or nil.
func (w *workload) nextOfSet(c *Cluster) func(context.Context) error {
	for ordinal := range w.replicas {
		p := w.at(ordinal)
		if p == nil {
			return func(ctx context.Context) error {
				return w.createPod(ctx, c, fmt.Sprintf("%s-%d", w.name, ordinal), ordinal)
			}
		}
		// One that crashes with the old template may be replaced all the same.
		if p.stage != podReady && (p.hash == w.hash || p.stage == terminating) {
			return nil
		}
	}
	if n := len(w.pods); n > w.replicas {
		last := w.pods[n-1]
		if last.stage == terminating {
			return nil
		}
		return func(ctx context.Context) error { return c.deletePod(ctx, last) }
	}
	for _, p := range slices.Backward(w.pods) {
		if p.hash != w.hash {
			return func(ctx context.Context) error { return c.deletePod(ctx, p) }
		}
	}
	return nil
}

func (w *workload) at(ordinal int) *pod {
	for _, p := range w.pods {
		if p.ordinal == ordinal {
			return p
		}
	}
	return nil
}
