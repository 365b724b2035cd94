package metrics_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/metrics"
)

// crowd is an informer with subscribers that come, work and leave.
type crowd struct {
	last     uint64
	handlers []describe.Handler
}

var limits = []float64{0.001, 0.1, 10}

func (c *crowd) join() {
	c.last++
	c.handlers = append(c.handlers, describe.Handler{ID: c.last, Name: fmt.Sprint("handler-", c.last), Queue: &describe.Queue{
		Took: &describe.Durations{Limits: limits, Counts: make([]uint64, 4)},
		Late: &describe.Durations{Limits: limits, Counts: make([]uint64, 4)},
	}})
}

func (c *crowd) leave(i int) { c.handlers = slices.Delete(c.handlers, i, i+1) }

// work makes one subscriber handle an event, with a duration in some bucket.
func (c *crowd) work(i, bucket int) {
	q := c.handlers[i].Queue
	q.Delivered++
	for _, d := range []*describe.Durations{q.Took, q.Late} {
		d.Counts[bucket]++
		d.Sum += describe.Duration(1 + bucket)
	}
}

func (c *crowd) Measure() []describe.Description {
	var handlers []describe.Handler
	for _, h := range c.handlers {
		q := *h.Queue
		h.Queue = &q
		handlers = append(handlers, h)
	}
	return []describe.Description{{Engine: 1, Source: describe.Source{Resource: "pods.v1"}, Handlers: handlers}}
}

// histogramsOf returns what is counted for the subscribers named "other": the buckets,
// the count and the sum of each histogram, and the counter.
func histogramsOf(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if labels := m.GetLabel(); len(labels) != 2 || labels[1].GetValue() != "other" {
				continue
			}
			if h := m.GetHistogram(); h != nil {
				got[f.GetName()+" count"], got[f.GetName()+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				for _, b := range h.GetBucket() {
					got[fmt.Sprint(f.GetName(), " below ", b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
			}
			if c := m.GetCounter(); c != nil {
				got[f.GetName()] = c.GetValue()
			}
		}
	}
	return got
}

// TestOthersNeverGoBack: when some of those summed up as "other" leave, what they
// counted stays.
func TestOthersNeverGoBack(t *testing.T) {
	c := metrics.New(metrics.Options{Subscribers: 1})
	var inf crowd
	if err := c.Add(&inf); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	for range 3 {
		inf.join() // the first one has a name
	}
	for range 5 {
		inf.work(1, 0)
		inf.work(2, 3)
	}
	const took = "kinform_subscriber_handler_duration_seconds"
	before := histogramsOf(t, reg)
	if before[took+" count"] != 10 || before[took+" below 0.001"] != 5 {
		t.Fatalf("got %v", before)
	}
	inf.leave(1)
	after := histogramsOf(t, reg)
	for name, v := range before {
		if after[name] != v {
			t.Errorf("when one of them went, %s went from %v to %v", name, v, after[name])
		}
	}
	inf.work(1, 0)
	if got := histogramsOf(t, reg); got[took+" count"] != 11 || got[took+" below 0.001"] != 6 || got["kinform_subscriber_delivered_total"] != 11 {
		t.Errorf("after one more call: %v", got)
	}
}

// TestAnyCrowdNeverGoesBack makes subscribers come, work and leave at random.
func TestAnyCrowdNeverGoesBack(t *testing.T) {
	c := metrics.New(metrics.Options{Subscribers: 2})
	var inf crowd
	if err := c.Add(&inf); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	random := rand.New(rand.NewPCG(1, 2))
	before := map[string]float64{}
	for range 2000 {
		switch n := len(inf.handlers); {
		case n < 4 || n < 10 && random.IntN(10) == 0: // there is an "other" all the time
			inf.join()
			continue
		case n > 4 && random.IntN(10) == 0:
			inf.leave(random.IntN(n))
		default:
			inf.work(random.IntN(n), random.IntN(4))
		}
		got := histogramsOf(t, reg)
		for name, v := range before {
			if got[name] < v {
				t.Fatalf("%s went back from %v to %v", name, v, got[name])
			}
		}
		before = got
	}
	if before["kinform_subscriber_handler_duration_seconds count"] < 100 {
		t.Errorf("little has happened: %v", before)
	}
}
