package cache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
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
