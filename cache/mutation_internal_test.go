package cache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// TestMutationDetector: objects are watched for minutes, not forever.
func TestMutationDetector(t *testing.T) {
	var out strings.Builder
	failures := 0
	d := newMutationDetector("test", &out, func(message string) {
		failures++
		if message != "cache test modified" {
			t.Error(message)
		}
	})
	p := &corev1.Pod{}
	start := time.Now()
	check := func(at time.Duration, name string, want int) {
		t.Helper()
		failures, p.Name = 0, name
		d.compare(start.Add(at))
		if failures != want {
			t.Errorf("after %v, called %q, it failed %d times, want %d", at, name, failures, want)
		}
	}
	d.AddObject(p)
	d.AddObject("no API object")
	d.AddObject(DeletedFinalStateUnknown{Obj: p})
	check(0, "", 0)
	check(mutationPeriod, "", 0)
	check(2*mutationPeriod, "changed", 1)
	if !strings.Contains(out.String(), "CACHE test[0] ALTERED!") || !strings.Contains(out.String(), `"changed"`) {
		t.Errorf("it does not show the difference: %s", &out)
	}
	check(mutationRetain, "changed", 1)
	check(mutationRetain+mutationPeriod, "changed", 1) // among the older
	check(2*mutationRetain+2*mutationPeriod, "changed", 0)
}

func TestMutationDetectorComparesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		d := newMutationDetector("test", &strings.Builder{}, func(string) { failed = true })
		p := &corev1.Pod{}
		d.AddObject(p)
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			d.Run(stop)
		}()
		time.Sleep(3 * mutationPeriod)
		synctest.Wait()
		p.Name = "changed"
		close(stop)
		<-ended
		if !failed {
			t.Error("the last change was not noticed")
		}
	})
}

// TestMutationOfPackedObjects: a handler that changes an object is found, although the
// store has its bytes.
func TestMutationOfPackedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "5a0a3d5c-5b0e-4b0e-9c0e-000000000001", CreationTimestamp: metav1.Unix(1e9, 0), ResourceVersion: "1"}}
		lw := &ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{p}}, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		}
		s := NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{}).(*sharedIndexInformer)
		failed := false
		s.detector = newMutationDetector("test", &strings.Builder{}, func(string) { failed = true })
		_, err := s.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(obj any) { obj.(*corev1.Pod).Name = "changed" }})
		if err != nil {
			t.Fatal(err)
		}
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(stop)
		}()
		synctest.Wait()
		if r := s.indexer.Record("a"); r == nil || r.Object() != nil {
			t.Error("the pod is not packed")
		}
		close(stop)
		<-ended
		if !failed {
			t.Error("the change was not noticed")
		}
		if obj, _, _ := s.indexer.GetByKey("a"); obj.(*corev1.Pod).Name != "a" {
			t.Error("the store has the change")
		}
	})
}
