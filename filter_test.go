package kinform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/predicate"
)

// TestFilter: a handler is called for the updates that its filter passes, and for what
// is no update; nothing is decoded to find out.
func TestFilter(t *testing.T) {
	for name, o := range map[string]kinform.Options{"protobuf": {}, "JSON": {JSON: true}} {
		t.Run(name, func(t *testing.T) {
			server := startSim(t, apisim.Options{})
			pods, err := kinform.New[*corev1.Pod](server.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			filter, err := pods.Filter(predicate.LabelsChanged(), predicate.ConditionBecame("Ready", "True"))
			if err != nil {
				t.Fatal(err)
			}
			all, some := make(chan string, 100), make(chan string, 100)
			pods.Subscribe(func(_ context.Context, e kinform.Event[*corev1.Pod]) {
				all <- fmt.Sprint(e.Type, e.Passes(filter))
			}, kinform.SubscribeOptions{})
			sub := pods.Subscribe(func(_ context.Context, e kinform.Event[*corev1.Pod]) {
				some <- string(e.Type)
			}, kinform.SubscribeOptions{Name: "filtered", Filter: filter})
			ctx := run(t, pods)
			if err := sub.WaitSynced(ctx); err != nil {
				t.Fatal(err)
			}
			client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("default")
			p, err := client.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
			for _, change := range []func(){
				func() { p.Annotations = map[string]string{"a": "b"} },
				func() { p.Labels = map[string]string{"a": "b"} },
				func() { p.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "False"}} },
				func() { p.Status.Conditions[0].Status = "True" },
				func() { p.Status.Conditions[0].Message = "yes" },
			} {
				if err == nil {
					change()
					if p.Status.Conditions == nil {
						p, err = client.Update(ctx, p, metav1.UpdateOptions{})
					} else {
						p, err = client.UpdateStatus(ctx, p, metav1.UpdateOptions{})
					}
				}
			}
			if err == nil {
				err = client.Delete(ctx, "p", metav1.DeleteOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"addedtrue", "updatedfalse", "updatedtrue", "updatedfalse", "updatedtrue", "updatedfalse",
				"updatedfalse" /* it is about to go */, "deletedtrue"} {
				if got := <-all; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			for _, want := range []string{"added", "updated", "updated", "deleted"} {
				if got := <-some; got != want {
					t.Errorf("filtered: %s, want %s", got, want)
				}
			}
			if m := pods.Status(); m.Memory.Passing != 0 || m.Subscribers[1].Refused != 4 {
				t.Errorf("%d bytes were decoded, %d updates refused", m.Memory.Passing, m.Subscribers[1].Refused)
			}
		})
	}
}

// TestFilterOfAnotherInformer: it passes everything where objects have another type, and
// works where they have the same.
func TestFilterOfAnotherInformer(t *testing.T) {
	cfg := startSim(t, apisim.Options{}).Config()
	nodes, err := kinform.New[*corev1.Node](cfg, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resource := corev1.SchemeGroupVersion.WithResource("nodes")
	became := predicate.ConditionBecame("Ready", "True")
	filters := []kinform.Filter{filterOf[*corev1.Node](t, cfg, kinform.Options{}, became), filterOf[*corev1.Pod](t, cfg, kinform.Options{}, became),
		filterOf[*unstructured.Unstructured](t, cfg, kinform.Options{Resource: resource}, became)}
	answers := make(chan string, 10)
	nodes.Subscribe(func(_ context.Context, e kinform.Event[*corev1.Node]) {
		if e.Type == kinform.EventUpdated {
			answers <- fmt.Sprint(e.Passes(filters[0]), e.Passes(filters[1]), e.Passes(filters[2]))
		}
	}, kinform.SubscribeOptions{})
	heard := make(chan string, 10)
	nodes.Subscribe(func(_ context.Context, e kinform.Event[*corev1.Node]) { heard <- string(e.Type) }, kinform.SubscribeOptions{Filter: filters[1]})
	ctx := run(t, nodes)
	client := kubernetes.NewForConfigOrDie(cfg).CoreV1().Nodes()
	n, err := client.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	for _, status := range []corev1.ConditionStatus{"False", "True"} {
		if err == nil {
			n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: status}}
			n, err = client.UpdateStatus(ctx, n, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"false true true", "true true true"} {
		if got := <-answers; got != want {
			t.Errorf("the filters of nodes, pods and unstructured nodes pass %s, want %s", got, want)
		}
	}
	for _, want := range []string{"added", "updated", "updated"} {
		if got := <-heard; got != want {
			t.Errorf("with a filter of pods: %s, want %s", got, want)
		}
	}
}

func filterOf[T any](t *testing.T, cfg *rest.Config, o kinform.Options, p predicate.Predicate) kinform.Filter {
	t.Helper()
	inf, err := kinform.New[T](cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := inf.Filter(p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFilterThatDoesNotFit: the error says which field the objects do not have.
func TestFilterThatDoesNotFit(t *testing.T) {
	maps, err := kinform.New[*corev1.ConfigMap](startSim(t, apisim.Options{}).Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		predicate.Predicate
		want string
	}{
		{predicate.SpecChanged(), `v1.ConfigMap has no field "spec"`},
		{predicate.Changed("dta"), "did you mean data?"},
		{predicate.Changed("kind"), "not a part of the objects in protobuf"},
	} {
		if _, err := maps.Filter(predicate.LabelsChanged(), test.Predicate); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.Predicate, err)
		}
	}
	filter, err := maps.Filter()
	if err != nil || !(kinform.Event[*corev1.ConfigMap]{}).Passes(filter) {
		t.Errorf("without a predicate, not everything passes; %v", err)
	}
}
