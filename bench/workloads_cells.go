package main

import (
	"fmt"

	"github.com/kinform/kinform/internal/workloads"
)

// A measure is one figure of a subject that is compared with client-go's.
type measure struct {
	name  string
	unit  unit
	value func(workloads.Report) float64
	// factor and slack are how much worse than client-go's it may be without being
	// called worse: factor times it, and slack on top.
	factor, slack float64
}

// measures are what is compared. What differs by less than the tolerance differs
// from run to run, too.
var measures = []measure{
	{"peak RSS", inBytes, func(r workloads.Report) float64 { return float64(r.PeakRSS) }, 1.05, 8 << 20},
	{"heap and mapped", inBytes, func(r workloads.Report) float64 { return float64(r.PeakOwn) }, 1.05, 8 << 20},
	{"held", inBytes, held, 1.05, 8 << 20},
	{"CPU", inSeconds, func(r workloads.Report) float64 { return r.CPU }, 1.10, 0.5},
	{"pauses", inSeconds, func(r workloads.Report) float64 { return r.Pauses }, 1.25, 0.050},
	{"longest pause", inSeconds, func(r workloads.Report) float64 { return r.Longest }, 2, 0.020},
}

// held is what lives on the heap and outside it when the load ends.
func held(r workloads.Report) float64 { return float64(r.Live + r.LiveMapped) }

// An expectation is the ratio to client-go's figure that is kept where the objects
// are alike: that of the benchmarks. What does not grow with the objects comes on
// top: the budgets of what was sent and decoded last, and in RSS the program.
type expectation struct{ ratio, fixed float64 }

var expected = map[string]map[string]expectation{
	"rollout": {"peak RSS": {1.0 / 10, 64 << 20}, "held": {1.0 / 25, 32 << 20}},
}

// reasons say why a cell is worse than client-go's, by workload and measure. A cell
// without a reason fails the run.
var reasons = map[[2]string]string{
	{"random-100k", "peak RSS"}:        incompressible,
	{"random-100k", "heap and mapped"}: incompressible,
	{"random-1m", "peak RSS"}:          incompressible,
	{"random-1m", "heap and mapped"}:   incompressible,
	{"keys-20k", "peak RSS"}:           bothForms,
	{"keys-20k", "heap and mapped"}:    bothForms,
	{"keys-20k", "held"}:               bothForms,
	{"rollout", "peak RSS"}:            justSent,
	{"rollout", "held"}:                justSent,
	{"gets", "peak RSS"}:               allRead,
	{"gets", "heap and mapped"}:        allRead,
}

const (
	incompressible = "random bytes cannot be packed, so the cache holds them as they came, and a few MiB of them decoded besides, for the handler"
	bothForms      = "a drop-in's handler gets objects whether it uses them or not; those of the hot objects are cached beside their bytes, which are random and cannot be packed"
	allRead        = "every object is read all the time, so that all are decoded, as client-go's are, beside their bytes"
	justSent       = "what was sent within the last minute is held as it came, as most of it does not last; a rollout sends everything within two minutes"
	smallHeap      = "a smaller heap is collected more often, and each collection stops the program for as long"
	shared         = "pauses are taken by the clock; with all subjects on the same few cores, one lasts until the thread that ends it gets a core; which subject is hit differs from run to run"
)

// reasonFor returns why a measure of an outcome may be worse than client-go's; "" if
// nobody knows.
func reasonFor(workload string, m measure, peer, this workloads.Report) string {
	switch {
	case m.name == "pauses" && this.GCs > peer.GCs:
		return smallHeap
	case m.name == "pauses", m.name == "longest pause":
		return shared
	}
	return reasons[[2]string{workload, m.name}]
}

// A cell is one measure of one subject beside client-go's.
type cell struct {
	measure
	peer, this float64
	expected   expectation // its ratio is 0 where there is none
	reason     string
}

func (c cell) ratio() float64 {
	if c.peer == 0 {
		return 0
	}
	return c.this / c.peer
}

// worse reports whether the cell is worse than client-go's, or than what is expected.
func (c cell) worse() bool {
	if c.expected.ratio > 0 {
		return c.this > c.expected.ratio*c.peer+c.expected.fixed
	}
	return c.this > c.factor*c.peer+c.slack
}

// verdict is what a table says of a cell that is worse.
func (c cell) verdict() string {
	text := fmt.Sprintf("%s %s", c.name, ratioText(c.ratio()))
	if c.expected.ratio > 0 {
		text += fmt.Sprintf(" (expected ≤ %s and %.0f MiB)", ratioText(c.expected.ratio), c.expected.fixed/(1<<20))
	}
	return text
}

// workloadResult is a run of a workload with what the server computed meanwhile.
type workloadResult struct {
	workloads.Result
	server float64 // seconds
}

// peer is client-go's outcome under the same limit.
func (r workloadResult) peer(o workloads.Outcome) workloads.Outcome {
	for _, p := range r.Reports {
		if p.Name == workloads.ClientGo && p.Limited == o.Limited {
			return p
		}
	}
	return workloads.Outcome{}
}

// cells compares an outcome with client-go's.
func (r workloadResult) cells(o workloads.Outcome) []cell {
	peer := r.peer(o)
	var all []cell
	for _, m := range measures {
		all = append(all, cell{
			measure: m, peer: m.value(peer.Report), this: m.value(o.Report),
			expected: expected[r.Workload.Name][m.name],
			reason:   reasonFor(r.Workload.Name, m, peer.Report, o.Report),
		})
	}
	return all
}

// worse are the cells of an outcome that are worse than client-go's; of one that
// failed none is compared, as it is worse altogether.
func (r workloadResult) worse(o workloads.Outcome) []cell {
	if o.Name == workloads.ClientGo || o.Failed != "" || r.peer(o).Failed != "" {
		return nil
	}
	var all []cell
	for _, c := range r.cells(o) {
		if c.worse() {
			all = append(all, c)
		}
	}
	return all
}
