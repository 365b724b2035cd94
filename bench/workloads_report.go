package main

import (
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kinform/kinform/internal/workloads"
)

// matrixReport is what all workloads gave.
type matrixReport struct {
	time, took time.Duration
	done       []workloadResult
}

var workloadHead = []string{"", "peak RSS", "", "heap", "mapped", "held", "", "CPU", "", "GCs", "pauses", "longest", "worse than client-go"}

// row is an outcome as the cells of a table.
func (r workloadResult) row(o workloads.Outcome) []string {
	peer := r.peer(o)
	ratio := func(value func(workloads.Report) float64) string {
		if o.Name == workloads.ClientGo || value(peer.Report) == 0 {
			return ""
		}
		return ratioText(value(o.Report) / value(peer.Report))
	}
	name := o.Name
	if o.Limited {
		name += fmt.Sprintf(", GOMEMLIMIT=%dMiB", r.Workload.Limit>>20)
	}
	size := func(n int64) string { return inBytes.format(float64(n)) }
	return []string{
		name,
		size(o.PeakRSS), ratio(measures[0].value),
		size(o.PeakHeap), size(o.PeakMapped),
		inBytes.format(held(o.Report)), ratio(held),
		fmt.Sprintf("%.1f s", o.CPU), ratio(func(r workloads.Report) float64 { return r.CPU }),
		thousands(float64(o.GCs)), inSeconds.format(o.Pauses), inSeconds.format(o.Longest),
		r.verdict(o),
	}
}

func (r workloadResult) verdict(o workloads.Outcome) string {
	switch {
	case o.Failed != "":
		return "**" + o.Failed + "**"
	case o.Name == workloads.ClientGo:
		return ""
	case r.peer(o).Failed != "":
		return "nowhere: client-go failed"
	}
	var texts []string
	for _, c := range r.worse(o) {
		texts = append(texts, "**"+c.verdict()+"**")
	}
	if texts == nil {
		return "nowhere"
	}
	return strings.Join(texts, "; ")
}

// busy is how much of the machine the server and the subjects took.
func (r workloadResult) busy() float64 {
	sum := r.server
	for _, o := range r.Reports {
		sum += o.CPU
	}
	return sum / (r.Took.Seconds() * float64(runtime.NumCPU()))
}

func (r workloadResult) summary() string {
	text := fmt.Sprintf("%s objects (%s), %s changes in %.0f s", thousands(float64(r.Objects)), inBytes.format(float64(r.Bytes)), thousands(float64(r.Changes)), r.Took.Seconds())
	if r.Behind > r.Changes/100 {
		text += fmt.Sprintf(" (%s could not be made in time)", thousands(float64(r.Behind)))
	}
	return text + fmt.Sprintf("; server and subjects took %.0f%% of %d cores", 100*r.busy(), runtime.NumCPU())
}

// lines is a result for the terminal.
func (r workloadResult) lines() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s: %s\n", r.Workload.Title, r.summary())
	fmt.Fprintf(w, "  %s\n", strings.Join(workloadHead, "\t"))
	for _, o := range r.Reports {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(strings.Join(r.row(o), "\t"), "**", ""))
	}
	_ = w.Flush()
	return b.String()
}

const workloadsPreface = `# Workloads

Written by ` + "`go -C bench run . -workloads -docs ../docs/evidence`" + `; do not edit. Loads and uses that nobody tuned for, client-go's informer
and both of kinform's on each: package kinform, and the drop-in for client-go's packages. A server in memory makes the load
once, at a steady rate for %v; all subjects watch it at the same time, each in a process of its own, without and with a
limit of memory. At the end each must hold what the server holds, key by key and version by version: one that does not has
failed.

Peak RSS is the highest since the process began, its first list included; the program itself is about 30 MB of it. Heap is
the highest sample of objects on the heap, garbage that is not yet collected included; mapped is the highest sample of
memory outside of it that is not the Go runtime's, found by subtraction. Held is what lives in both right after the last
change. CPU, collections and their pauses are those under load. Ratios are to client-go under the same limit.

A cell counts as worse when it is worse than client-go's by more than 5%% and 8 MiB (memory), 10%% and 0.5 s (CPU), 25%% and
50 ms (pauses together), or twice and 20 ms (the longest pause). Where objects are alike, the ratios of the benchmarks are
expected, with a fixed allowance for what does not grow with the objects. A cell that is worse for no known reason fails the program.

%d processors, %s, %s/%s; the run took %.0f minutes.

`

// text is the document.
func (m matrixReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, workloadsPreface, m.time, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, m.took.Minutes())
	b.WriteString("## Where kinform is worse, and why\n\n" + m.worse())
	for _, r := range m.done {
		fmt.Fprintf(&b, "\n## %s\n\n`%s`: %s\n%s.\n\n", r.Workload.Title, r.Workload.Name, r.Workload.Text, r.summary())
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(workloadHead, " | "), strings.Repeat("---|", len(workloadHead)))
		for _, o := range r.Reports {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(r.row(o), " | "))
		}
	}
	return b.String()
}

// worse lists the cells that are worse, and the subjects that failed, by their reason.
func (m matrixReport) worse() string {
	var order []string // of the reasons
	cells := map[string][]string{}
	add := func(why, cell string) {
		if cells[why] == nil {
			order = append(order, why)
		}
		cells[why] = append(cells[why], cell)
	}
	for _, r := range m.done {
		for _, o := range r.Reports {
			name := r.Workload.Name + ", " + r.row(o)[0] + ": "
			if o.Failed != "" {
				add("It failed.", name+o.Failed)
			}
			for _, c := range r.worse(o) {
				why := "Nobody knows why."
				if c.reason != "" {
					why = strings.ToUpper(c.reason[:1]) + c.reason[1:] + "."
				}
				add(why, name+c.verdict())
			}
		}
	}
	if order == nil {
		return "Nowhere.\n"
	}
	var b strings.Builder
	for _, why := range order {
		fmt.Fprintf(&b, "**%s**\n\n- %s\n\n", why, strings.Join(cells[why], "\n- "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// unexplained are the cells that are worse and have no reason, and the subjects
// that failed.
func (m matrixReport) unexplained() []string {
	var all []string
	for _, r := range m.done {
		for _, o := range r.Reports {
			who := fmt.Sprintf("%s, %s: ", r.Workload.Name, r.row(o)[0])
			if o.Failed != "" && o.Name != workloads.ClientGo {
				all = append(all, who+o.Failed)
			}
			for _, c := range r.worse(o) {
				if c.reason == "" {
					all = append(all, who+"worse than client-go: "+c.verdict())
				}
			}
		}
	}
	return all
}
