package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// find returns a workload of a kind with at least so many replicas.
func (c *Cluster) find(t *testing.T, kind string, replicas int) *workload {
	t.Helper()
	i := slices.IndexFunc(c.workloads, func(w *workload) bool { return w.kind == kind && w.replicas >= replicas })
	if i < 0 {
		t.Fatalf("no %s with %d replicas", kind, replicas)
	}
	return c.workloads[i]
}

// history is what a watch of pods in a namespace says, read in order.
type history struct {
	t      *testing.T
	ctx    context.Context
	events <-chan watch.Event
}

func record(t *testing.T, client kubernetes.Interface, namespace string) *history {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return &history{t, ctx, w.ResultChan()}
}

// until reads events up to the first for which done is true.
func (h *history) until(what string, done func(kind watch.EventType, pod *corev1.Pod) bool) {
	h.t.Helper()
	for {
		select {
		case event, ok := <-h.events:
			if !ok {
				h.t.Fatalf("the watch ended before %s", what)
			}
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				h.t.Fatalf("the watch gave %v before %s", event.Object, what)
			}
			if done(event.Type, pod) {
				return
			}
		case <-h.ctx.Done():
			h.t.Fatalf("no sign of %s", what)
		}
	}
}

// describe gives a pod as kubectl would.
func describe(p *corev1.Pod) string {
	text := string(p.Status.Phase)
	if p.Spec.NodeName == "" {
		return text + " unscheduled"
	}
	for _, s := range p.Status.ContainerStatuses[:min(1, len(p.Status.ContainerStatuses))] {
		if s.State.Waiting != nil {
			text += " " + s.State.Waiting.Reason
		}
		if s.RestartCount > 0 {
			text += fmt.Sprintf(" restarts=%d", s.RestartCount)
		}
		if s.Ready {
			text += " ready"
		}
	}
	return text
}

func TestPodGoesThroughItsStages(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 100, Seed: 2})
	w := c.find(t, deployment, 1)
	h := record(t, client, w.namespace)
	victim := w.pods[0]
	known := map[string]bool{}
	for _, p := range w.pods {
		known[p.name] = true
	}
	if err := c.deletePod(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	if err := c.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var fresh *pod
	for _, p := range w.pods {
		if !known[p.name] {
			fresh = p
		}
	}
	if fresh == nil {
		t.Fatal("the pod was not replaced")
	}
	fresh.crashes = 2
	c.queue(fresh)
	if err := c.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stages []string
	h.until("the recovery from the second crash", func(_ watch.EventType, p *corev1.Pod) bool {
		if p.Name == fresh.name {
			if stage := describe(p); len(stages) == 0 || stages[len(stages)-1] != stage {
				stages = append(stages, stage)
			}
		}
		return p.Name == fresh.name && strings.HasSuffix(describe(p), "restarts=2 ready")
	})
	want := []string{
		"Pending unscheduled", "Pending", "Pending ContainerCreating", "Running", "Running ready",
		"Running CrashLoopBackOff", "Running restarts=1", "Running restarts=1 ready",
		"Running CrashLoopBackOff restarts=1", "Running restarts=2", "Running restarts=2 ready",
	}
	if !slices.Equal(stages, want) {
		t.Errorf("stages\n%s\nwant\n%s", strings.Join(stages, "\n"), strings.Join(want, "\n"))
	}
}

func TestDeploymentRollsOutPodByPod(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 300, Seed: 3})
	w := c.find(t, deployment, 8)
	h := record(t, client, w.namespace)
	old, replicas := w.hash, w.replicas
	if err := w.rollOut(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := c.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.hash == old {
		t.Fatal("a rollout did not change the template")
	}
	ready, present := map[string]bool{}, map[string]bool{}
	for i := range replicas {
		ready[fmt.Sprint("old pod ", i)], present[fmt.Sprint("old pod ", i)] = true, true
	}
	deleted := 0
	h.until("the last old pod to go and the last new one to be ready", func(kind watch.EventType, p *corev1.Pod) bool {
		if !strings.HasPrefix(p.Name, w.name+"-") {
			return false
		}
		name := p.Name
		if p.Labels["pod-template-hash"] == old {
			if kind != watch.Deleted {
				return false
			}
			name = fmt.Sprint("old pod ", deleted)
			deleted++
		}
		if kind == watch.Deleted {
			delete(ready, name)
			delete(present, name)
		} else {
			present[name] = true
			if stageOf(p) == podReady {
				ready[name] = true
			}
		}
		if len(ready) < replicas-replicas/4 || len(present) > replicas+(replicas+3)/4 {
			t.Fatalf("%d ready and %d present of %d", len(ready), len(present), replicas)
		}
		return deleted == replicas && len(ready) == replicas
	})
	look(t, client).check(t)
}

func TestStatefulSetUpdatesInOrder(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 300, Seed: 4})
	w := c.find(t, statefulSet, 4)
	h := record(t, client, w.namespace)
	replicas := w.replicas
	if err := w.rollOut(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := c.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var order []string
	h.until("pod 0 to be ready again", func(kind watch.EventType, p *corev1.Pod) bool {
		if !strings.HasPrefix(p.Name, w.name+"-") {
			return false
		}
		number := strings.TrimPrefix(p.Name, w.name+"-")
		switch {
		case kind == watch.Deleted:
			order = append(order, "end "+number)
		case stageOf(p) == podReady && p.Labels["controller-revision-hash"] == w.hash:
			order = append(order, "ready "+number)
			return number == "0"
		}
		return false
	})
	var want []string
	for i := range replicas {
		want = append(want, fmt.Sprint("end ", replicas-1-i), fmt.Sprint("ready ", replicas-1-i))
	}
	if !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	look(t, client).check(t)
}

func TestStatefulSetScalesInOrder(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 300, Seed: 4})
	w := c.find(t, statefulSet, 3)
	h := record(t, client, w.namespace)
	size := w.replicas
	for _, replicas := range []int{size + 2, 1} {
		if err := w.patchSpec(t.Context(), c, "application/merge-patch+json", map[string]any{"spec": map[string]any{"replicas": replicas}}); err != nil {
			t.Fatal(err)
		}
		w.replicas = replicas
		c.queue(w)
		if err := c.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	h.until("pod 1 to go", func(kind watch.EventType, p *corev1.Pod) bool {
		if strings.HasPrefix(p.Name, w.name+"-") && kind != watch.Modified {
			order = append(order, string(kind)+strings.TrimPrefix(p.Name, w.name))
		}
		return kind == watch.Deleted && p.Name == w.name+"-1"
	})
	want := []string{fmt.Sprint("ADDED-", size), fmt.Sprint("ADDED-", size+1)}
	for i := size + 1; i > 0; i-- {
		want = append(want, fmt.Sprint("DELETED-", i))
	}
	if !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	look(t, client).check(t)
}

func TestDeletedWorkloadTakesEverythingAlong(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 200, Seed: 5})
	for _, kind := range []string{deployment, statefulSet} {
		w := c.find(t, kind, 2)
		if err := w.remove(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := c.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.byName[w.key()] != nil {
			t.Errorf("the %s is still in the model", kind)
		}
	}
	look(t, client).check(t)
}

func TestEventsDoNotPileUp(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 100, Seed: 6})
	ctx := context.Background()
	for range 3 * c.keptEvents() {
		c.say(c.workloads[0].reference(), corev1.EventTypeNormal, "Test", "test", "one of many")
	}
	if err := c.settle(ctx); err != nil {
		t.Fatal(err)
	}
	events, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil || len(events.Items) != c.keptEvents() {
		t.Errorf("%d events, %v; want %d", len(events.Items), err, c.keptEvents())
	}
}
