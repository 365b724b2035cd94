package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/apisim"
)

// runIt runs the cluster until the test calls the function that it gives, or ends.
func runIt(t *testing.T, c *Cluster) (stop func() Totals) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		totals Totals
		err    error
	}
	done := make(chan result, 1)
	go func() {
		totals, err := c.Run(ctx)
		done <- result{totals, err}
	}()
	stop = func() Totals {
		cancel()
		r := <-done
		done <- r
		if r.err != nil {
			t.Errorf("Run: %v", r.err)
		}
		return r.totals
	}
	t.Cleanup(func() { stop() })
	return stop
}

func TestRunFollowsOthers(t *testing.T) {
	_, c, client := populated(t, Options{Objects: 60, Seed: 1, Rate: 1_000, Namespaces: 2})
	c.story = func() task { return c.nodes[0] } // so that all that happens is what the test does
	w := c.find(t, deployment, 1)
	h := record(t, client, "")
	stop := runIt(t, c)
	ctx := t.Context()

	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := map[string]bool{}
	ofWeb := func(kind watch.EventType, p *corev1.Pod, image string) int {
		if p.Labels["app"] == "web" && p.Spec.Containers[0].Image == image {
			if pods[p.Name] = stageOf(p) == podReady; kind == watch.Deleted {
				delete(pods, p.Name)
			}
		}
		ready := 0
		for _, r := range pods {
			if r {
				ready++
			}
		}
		return ready
	}
	h.until("the pods of a new Deployment", func(kind watch.EventType, p *corev1.Pod) bool { return ofWeb(kind, p, "web:1") == 2 })

	var victim string
	for name := range pods {
		victim = name
	}
	if err := client.CoreV1().Pods("default").Delete(ctx, victim, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.until("the replacement of a deleted pod", func(kind watch.EventType, p *corev1.Pod) bool {
		return ofWeb(kind, p, "web:1") == 2 && !pods[victim]
	})

	alone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "alone"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := client.CoreV1().Pods("default").Create(ctx, alone, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.until("a pod without an owner to run", func(_ watch.EventType, p *corev1.Pod) bool { return p.Name == "alone" && stageOf(p) == podReady })

	four := []byte(`{"spec":{"replicas":4}}`)
	if _, err := client.AppsV1().Deployments("default").Patch(ctx, "web", types.MergePatchType, four, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	h.until("the pods of a scaled Deployment", func(kind watch.EventType, p *corev1.Pod) bool { return ofWeb(kind, p, "web:1") == 4 })

	if err := client.AppsV1().Deployments(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.until("the pods of a deleted Deployment to go", func(kind watch.EventType, p *corev1.Pod) bool {
		if kind != watch.Deleted || !strings.HasPrefix(p.Name, w.name+"-") {
			return false
		}
		list, err := client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + w.name})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items) == 0
	})
	if totals := stop(); totals.Sum() == 0 {
		t.Error("nothing was counted")
	}
}

func TestRunLivesThroughFailures(t *testing.T) {
	server, c, client := populated(t, Options{Objects: 200, Seed: 2, Rate: 1_000})
	h := record(t, client, "")
	stop := runIt(t, c)
	next := func(what string) {
		t.Helper()
		n := 0
		h.until(what, func(watch.EventType, *corev1.Pod) bool { n++; return n == 20 })
	}
	writes := apisim.Match{Func: func(r *http.Request) bool { return r.Method != http.MethodGet }}
	next("changes of a healthy server")
	remove := server.Inject(apisim.Fault{Match: writes, Status: http.StatusServiceUnavailable, Times: 5})
	next("changes after 503")
	remove()
	remove = server.Inject(apisim.Fault{Match: writes, Reset: true, Times: 5})
	next("changes after cut connections")
	remove()
	server.Restart()
	h = record(t, client, "")
	next("changes after a restart")
	stop()
	if err := c.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	look(t, client).check(t)
}

// losing passes every request on, and loses the answer to every third write.
type losing struct {
	next http.RoundTripper
	off  bool
	n    int
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	if err != nil || l.off || r.Method == http.MethodGet {
		return answer, err
	}
	if l.n++; l.n%3 != 0 {
		return answer, nil
	}
	answer.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

// A write is done and nobody hears of it. Nothing follows the server here, so
// that the simulator has to look for itself.
func TestLostAnswersAreNotTakenForFailures(t *testing.T) {
	seeds := int64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		server, _, client := start(t, Options{})
		config, way := server.Config(), &losing{off: true}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { way.next = next; return way })
		c, err := New(config, Options{Objects: 200, Seed: seed, Load: server.Load})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Populate(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost := 0
		way.off = false
		for range 1_000 {
			if err := c.step(t.Context()); err != nil {
				lost++
			}
		}
		way.off = true
		if lost < 100 {
			t.Errorf("only %d answers were lost", lost)
		}
		if err := c.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		look(t, client).check(t)
	}
}

func TestRunGivesUpOnAServerThatIsGone(t *testing.T) {
	server, c, _ := populated(t, Options{Objects: 60, Seed: 2, Rate: 1_000})
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Run(ctx); err != nil {
		t.Errorf("Run: %v; the end of its context is no error", err)
	}
	if err := c.step(t.Context()); err == nil {
		t.Error("a step on a server that is gone made a change")
	}
}

func TestPopulateStopsWithItsContext(t *testing.T) {
	server, _, _ := start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	config := server.Config()
	var requests atomic.Int32
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if requests.Add(1) == 100 {
				cancel()
			}
			return next.RoundTrip(r)
		})
	})
	c, err := New(config, Options{Objects: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Populate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Populate: %v, want context.Canceled", err)
	}
	if n := requests.Load(); n > 100+writers {
		t.Errorf("%d requests, the context ended with the 100th", n)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRunKeepsItsRate(t *testing.T) {
	_, c, _ := populated(t, Options{Objects: 300, Seed: 3, Rate: 100})
	before := c.Totals().Sum()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	totals, err := c.Run(ctx)
	if made := totals.Sum() - before; err != nil || made == 0 || made > 110 {
		t.Errorf("%d changes in 1 s, %v; want about 100", made, err)
	}
}
