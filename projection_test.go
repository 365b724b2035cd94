package kinform_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// podLite is what a program may want of a pod.
type podLite struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NodeName   string `json:"nodeName"`
		Grace      int64  `json:"terminationGracePeriodSeconds"` // a pointer in a pod
		Containers []struct {
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"` // corev1.PodPhase in a pod
	} `json:"status"`
}

func (p *podLite) String() string {
	return fmt.Sprint(p.Metadata, p.Spec, p.Status)
}

// liteOf makes by hand what is read of a pod.
func liteOf(pod *corev1.Pod) *podLite {
	p := &podLite{}
	p.Metadata.Name, p.Metadata.Labels = pod.Name, pod.Labels
	p.Spec.NodeName, p.Status.Phase = pod.Spec.NodeName, string(pod.Status.Phase)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		p.Spec.Grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	for _, c := range pod.Spec.Containers {
		p.Spec.Containers = append(p.Spec.Containers, struct {
			Image string `json:"image"`
		}{c.Image})
	}
	return p
}

// TestProjection: a struct of the program's own gets the fields that it names, in
// events, listers and indexes, whatever the objects are held as.
func TestProjection(t *testing.T) {
	for name, o := range map[string]kinform.Options{"protobuf": {}, "JSON": {JSON: true}} {
		t.Run(name, func(t *testing.T) {
			o.MutationDetector, o.OnMutation = kinform.MutationDetectorFull, func(m kinform.Mutation) { t.Errorf("%s was changed", m.Key) }
			server := startSim(t, apisim.Options{})
			pods := slices.Collect(objects.New(objects.Options{Seed: 5}).Pods(200))
			want, nodes := map[string]string{}, map[string]int{}
			for _, pod := range pods {
				want[pod.Namespace+"/"+pod.Name] = liteOf(pod).String()
				nodes[pod.Spec.NodeName]++
			}
			err := server.Load(func(yield func(runtime.Object) bool) {
				for _, pod := range pods {
					if !yield(pod) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := kinform.New[*corev1.Pod](server.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			lite, err := kinform.View[*podLite](whole)
			if err != nil {
				t.Fatal(err)
			}
			index, err := lite.AddIndex("node", func(p *podLite) []string { return []string{p.Spec.NodeName} })
			if err != nil {
				t.Fatal(err)
			}
			accounts, err := lite.AddFieldIndex("account", "spec.schedulerName") // which the struct does not have
			if err != nil {
				t.Fatal(err)
			}
			phases, err := lite.AddFieldIndex("phase", "status.phase")
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			heard := map[string]string{}
			sub := lite.Subscribe(func(_ context.Context, e kinform.Event[*podLite]) {
				p, err := e.New()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				heard[e.Key] = p.String()
			}, kinform.SubscribeOptions{})
			ctx, cancel := context.WithCancel(within(t))
			done := make(chan error, 1)
			go func() { done <- whole.Run(ctx) }()
			if err := sub.WaitSynced(ctx); err != nil {
				t.Fatal(err)
			}
			listed, found := map[string]string{}, map[string]int{}
			for key, p := range lite.Lister().All() {
				listed[key] = p.String()
			}
			for node := range nodes {
				found[node] = len(slices.Collect(index.Keys(node)))
			}
			for range accounts.Values() {
			}
			for _, p := range lite.Lister().All() {
				if p.Kind != "Pod" || p.APIVersion != "v1" {
					t.Errorf("%s is a %s %s", p.Metadata.Name, p.APIVersion, p.Kind)
				}
			}
			phased := 0
			for _, phase := range phases.Values() {
				phased += len(slices.Collect(phases.Keys(phase)))
			}
			if phased != len(pods) {
				t.Errorf("%d have a phase, of %d", phased, len(pods))
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if !maps.Equal(heard, want) || !maps.Equal(listed, want) {
				t.Errorf("%d were heard of and %d listed, of %d, or they are not the same", len(heard), len(listed), len(want))
			}
			if !maps.Equal(found, nodes) {
				t.Errorf("the index has %v, want %v", found, nodes)
			}
		})
	}
}

// TestProjectionThatDoesNotFit: the error says which field.
func TestProjectionThatDoesNotFit(t *testing.T) {
	whole, err := kinform.New[*corev1.Pod](startSim(t, apisim.Options{}).Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kinform.View[*struct {
		Spec struct {
			Node string `json:"node"`
		} `json:"spec"`
	}](whole)
	if err == nil || !strings.Contains(err.Error(), "spec.node: v1.PodSpec has no such field") {
		t.Errorf("%v", err)
	}
}
