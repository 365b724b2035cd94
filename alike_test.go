package kinform_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// TestAlikeObjectsAreRead: readers of different objects that have parts in common, who do
// what readers do, are in nobody's way and are not taken for writers. A quantity remembers
// its text when it is first asked for it, so even that must not be seen in another object.
func TestAlikeObjectsAreRead(t *testing.T) {
	s := startSim(t, apisim.Options{})
	c := client(t, s)
	want := map[string]string{}
	for pod := range objects.New(objects.Options{Seed: 1, Workloads: 2}).Pods(100) {
		pod.Namespace, pod.ResourceVersion = "default", ""
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
		if err != nil {
			t.Fatal(err)
		}
		fields["apiVersion"], fields["kind"] = "v1", "Pod"
		create(t, c, core("pods"), "default", &unstructured.Unstructured{Object: fields})
		want["default/"+pod.Name] = pod.Spec.NodeName
	}
	var log journal
	inf := newInformer[*corev1.Pod](t, s.Config(), kinform.Options{MutationDetector: kinform.MutationDetectorSampled, Logger: log.logger()})
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) {
		if _, err := ev.New(); err != nil {
			t.Error(err)
		}
	}, kinform.SubscribeOptions{Name: "reader"})
	running(t, inf)
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			seen := 0
			for key, pod := range inf.Lister().All() {
				if seen++; seen%4 != i {
					continue // one reader for each object, as with a queue of keys
				}
				if pod.Spec.NodeName != want[key] {
					t.Errorf("%s is on %q, want %q", key, pod.Spec.NodeName, want[key])
				}
				for _, container := range pod.Spec.Containers {
					for _, q := range container.Resources.Requests {
						_ = q.String()
					}
					_ = container.Resources.Limits.Cpu().AsApproximateFloat64()
				}
				for _, v := range pod.Spec.Volumes {
					if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
						_ = v.EmptyDir.SizeLimit.String()
					}
				}
				if _, err := json.Marshal(pod); err != nil {
					t.Error(err)
				}
				_ = pod.DeepCopy()
			}
			if seen != len(want) {
				t.Errorf("%d pods, want %d", seen, len(want))
			}
		})
	}
	readers.Wait()
	if st := inf.Status(); st.Mutated != 0 || st.Memory.Shared == 0 {
		t.Errorf("%d changes (%v), %d bytes in common", st.Mutated, st.LastMutation, st.Memory.Shared)
	}
}
