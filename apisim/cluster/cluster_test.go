package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, o Options) (*apisim.Server, *Cluster, kubernetes.Interface) {
	t.Helper()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(server.Config(), o)
	if err != nil {
		t.Fatal(err)
	}
	config := server.Config()
	config.ContentType = "application/vnd.kubernetes.protobuf"
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, c, kubernetes.NewForConfigOrDie(config)
}

// populated starts a server with a cluster that is filled in bulk.
func populated(t testing.TB, o Options) (*apisim.Server, *Cluster, kubernetes.Interface) {
	t.Helper()
	server, c, client := start(t, o)
	c.opts.Load = server.Load
	if err := c.Populate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server, c, client
}

// world is all that the server has of the kinds that belong together.
type world struct {
	deployments []appsv1.Deployment
	sets        []appsv1.ReplicaSet
	stateful    []appsv1.StatefulSet
	pods        []corev1.Pod
	nodes       map[string]bool
}

func look(t testing.TB, client kubernetes.Interface) world {
	t.Helper()
	ctx, all := t.Context(), metav1.ListOptions{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	deployments, err := client.AppsV1().Deployments("").List(ctx, all)
	must(err)
	sets, err := client.AppsV1().ReplicaSets("").List(ctx, all)
	must(err)
	stateful, err := client.AppsV1().StatefulSets("").List(ctx, all)
	must(err)
	pods, err := client.CoreV1().Pods("").List(ctx, all)
	must(err)
	nodes, err := client.CoreV1().Nodes().List(ctx, all)
	must(err)
	w := world{deployments.Items, sets.Items, stateful.Items, pods.Items, map[string]bool{}}
	for _, n := range nodes.Items {
		w.nodes[n.Name] = true
	}
	return w
}

// check compares what belongs together in a cluster at rest.
func (w world) check(t testing.TB) {
	t.Helper()
	pods := map[types.UID][]*corev1.Pod{}
	for i := range w.pods {
		p := &w.pods[i]
		owner := metav1.GetControllerOf(p)
		if owner == nil {
			t.Errorf("pod %s/%s has no owner", p.Namespace, p.Name)
			continue
		}
		pods[owner.UID] = append(pods[owner.UID], p)
		if stageOf(p) != podReady || p.Status.Phase != corev1.PodRunning || !w.nodes[p.Spec.NodeName] {
			t.Errorf("pod %s/%s: phase %s on node %q, conditions %v", p.Namespace, p.Name, p.Status.Phase, p.Spec.NodeName, p.Status.Conditions)
		}
	}
	current := map[types.UID]int32{}
	for i := range w.sets {
		s := &w.sets[i]
		owner := metav1.GetControllerOf(s)
		current[owner.UID] += *s.Spec.Replicas
		if n := int32(len(pods[s.UID])); n != *s.Spec.Replicas || n != s.Status.Replicas || n != s.Status.ReadyReplicas {
			t.Errorf("ReplicaSet %s/%s has %d pods, wants %d, status %+v", s.Namespace, s.Name, n, *s.Spec.Replicas, s.Status)
		}
		delete(pods, s.UID)
	}
	for i := range w.deployments {
		d := &w.deployments[i]
		want, s := *d.Spec.Replicas, d.Status
		if current[d.UID] != want || s.Replicas != want || s.ReadyReplicas != want || s.UpdatedReplicas != want || s.ObservedGeneration != d.Generation {
			t.Errorf("Deployment %s/%s of generation %d wants %d, its sets %d, status %+v", d.Namespace, d.Name, d.Generation, want, current[d.UID], s)
		}
		delete(current, d.UID)
	}
	for i := range w.stateful {
		s := &w.stateful[i]
		w.checkStateful(t, s, pods[s.UID])
		delete(pods, s.UID)
	}
	if len(pods) > 0 || len(current) > 0 {
		t.Errorf("left behind: pods of %d owners, sets of %d Deployments", len(pods), len(current))
	}
}

func (w world) checkStateful(t testing.TB, s *appsv1.StatefulSet, pods []*corev1.Pod) {
	t.Helper()
	want := int(*s.Spec.Replicas)
	if len(pods) != want || int(s.Status.ReadyReplicas) != want || int(s.Status.UpdatedReplicas) != want || s.Status.CurrentRevision != s.Status.UpdateRevision {
		t.Errorf("StatefulSet %s/%s wants %d, has %d pods, status %+v", s.Namespace, s.Name, want, len(pods), s.Status)
	}
	for ordinal := range want {
		name := fmt.Sprintf("%s-%d", s.Name, ordinal)
		i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("StatefulSet %s/%s: no pod %s", s.Namespace, s.Name, name)
			continue
		}
		if revision := s.Name + "-" + pods[i].Labels[appsv1.ControllerRevisionHashLabelKey]; revision != s.Status.UpdateRevision {
			t.Errorf("pod %s is of revision %s, want %s", name, revision, s.Status.UpdateRevision)
		}
	}
}

// settle does what is left to do, without beginning anything new.
func (c *Cluster) settle(ctx context.Context) error {
	for n := 0; len(c.tasks) > 0; n++ {
		if n > 200_000 {
			return fmt.Errorf("%d tasks never end, such as %T", len(c.tasks), c.tasks[0])
		}
		task := c.tasks[0]
		c.tasks = c.tasks[1:]
		*task.waiting() = false
		if err := c.perform(ctx, task); err != nil {
			return err
		}
	}
	return nil
}

func TestPopulate(t *testing.T) {
	for _, bulk := range []bool{true, false} {
		t.Run(fmt.Sprintf("bulk %v", bulk), func(t *testing.T) {
			server, c, client := start(t, Options{Objects: 250, Seed: 1})
			if bulk {
				c.opts.Load = server.Load
			}
			if err := c.Populate(t.Context()); err != nil {
				t.Fatal(err)
			}
			created := 0
			for change, n := range c.Totals() {
				if change.Verb == "create" {
					created += n
				}
			}
			if created < 225 || created > 275 {
				t.Errorf("%d objects, want about 250: %v", created, c.Totals())
			}
			w := look(t, client)
			w.check(t)
			if len(w.deployments) < 8 || len(w.stateful) < 2 || len(w.pods) < 100 || len(w.pods) != len(c.pods) {
				t.Errorf("%d deployments, %d stateful sets, %d pods; the model has %d", len(w.deployments), len(w.stateful), len(w.pods), len(c.pods))
			}
			if err := c.settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.Totals()[Change{"Event", "create"}] > 0 {
				t.Error("a cluster at rest has work to do")
			}
		})
	}
}

func TestStepsKeepTheClusterConsistent(t *testing.T) {
	seen := Totals{}
	for seed := range int64(3) {
		_, c, client := populated(t, Options{Objects: 300, Seed: seed})
		before := c.Totals().Sum()
		const steps = 800
		for range steps {
			if err := c.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if made := c.Totals().Sum() - before; made != steps {
			t.Errorf("%d steps made %d changes", steps, made)
		}
		if err := c.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		look(t, client).check(t)
		t.Log(c.Totals())
		for change, n := range c.Totals() {
			seen[change] += n
		}
	}
	for _, change := range []Change{
		{"Pod", "create"}, {"Pod", "patch"}, {"Pod", "delete"}, {"Event", "create"}, {"Event", "delete"}, {"Lease", "patch"}, {"Node", "patch"},
		{"Deployment", "patch"}, {"StatefulSet", "patch"}, {"ReplicaSet", "create"}, {"ReplicaSet", "patch"}, {"ConfigMap", "patch"},
	} {
		if seen[change] == 0 {
			t.Errorf("no %s of a %s", change.Verb, change.Kind)
		}
	}
}

func TestSameSeedSameChanges(t *testing.T) {
	var totals [2]string
	for i := range totals {
		_, c, _ := populated(t, Options{Objects: 200, Seed: 9})
		for range 400 {
			if err := c.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		totals[i] = c.Totals().String()
	}
	if totals[0] != totals[1] {
		t.Errorf("the same seed made\n%s\nand then\n%s", totals[0], totals[1])
	}
}

func TestTotalsReadWell(t *testing.T) {
	totals := Totals{{"Pod", "create"}: 3, {"Pod", "delete"}: 1, {"Event", "create"}: 7}
	if got, want := totals.String(), "Event 7 created; Pod 3 created, 1 deleted"; got != want || totals.Sum() != 11 {
		t.Errorf("%q with sum %d, want %q with 11", got, totals.Sum(), want)
	}
}

// BenchmarkStep tells how many changes a second the server and the simulator
// reach together.
func BenchmarkStep(b *testing.B) {
	_, c, _ := populated(b, Options{Objects: 5_000, Seed: 1})
	before, began := c.Totals().Sum(), time.Now()
	for b.Loop() {
		if err := c.step(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(c.Totals().Sum()-before)/time.Since(began).Seconds(), "changes/s")
}
