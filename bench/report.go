package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what all benchmarks gave.
type report struct {
	objects, rounds int
	took            time.Duration
	done            []outcome
}

// figure is one row of an outcome with its values.
type figure struct {
	row
	work, who   string
	peer, value float64
}

// figures of an outcome, one for each row that compares something or has a limit.
func (o outcome) figures() []figure {
	var fs []figure
	for _, r := range o.rows {
		if o.grows && !r.absolute {
			continue
		}
		f := figure{row: r, work: o.title, who: o.sides[r.side].name, value: o.medians[r.side][r.metric]}
		if !r.absolute {
			f.peer = o.medians[0][r.metric]
		}
		fs = append(fs, f)
	}
	return fs
}

func (f figure) ratio() float64 {
	if f.absolute || f.peer == 0 {
		return 0
	}
	return f.value / f.peer
}

// ok reports whether the limit is kept.
func (f figure) ok() bool {
	switch {
	case f.limit == 0:
		return true
	case f.absolute:
		return f.value <= f.limit
	case f.more:
		return f.ratio() >= f.limit
	}
	return f.ratio() <= f.limit
}

func (f figure) limitText() string {
	switch {
	case f.limit == 0:
		return "–"
	case f.absolute:
		return "≤ " + f.unit.format(f.limit)
	case f.more:
		return "≥ " + ratioText(f.limit)
	}
	return "≤ " + ratioText(f.limit)
}

func (f figure) verdict() string {
	switch {
	case f.limit == 0:
		return ""
	case f.ok():
		return "ok"
	}
	return "MISSED"
}

func (f figure) cells() []string {
	peer := "–"
	if !f.absolute {
		peer = f.unit.format(f.peer)
	}
	return []string{f.title, peer, f.unit.format(f.value), ratioText(f.ratio()), f.limitText(), f.verdict()}
}

// lines is an outcome for the terminal, as soon as it is there.
func (o outcome) lines() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s\n", o.title)
	if o.grows {
		for _, cells := range o.growthCells() {
			fmt.Fprintf(w, "  %s\n", strings.Join(cells, "\t"))
		}
	}
	for _, f := range o.figures() {
		fmt.Fprintf(w, "  %s\t%s\n", f.who, strings.Join(f.cells(), "\t"))
	}
	_ = w.Flush()
	return b.String()
}

// table is every ratio.
func (r report) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "work\twho\tfigure\tclient-go\tthis\tratio\tlimit\t")
	for _, o := range r.done {
		for _, f := range o.figures() {
			fmt.Fprintf(w, "%s\t%s\t%s\n", f.work, f.who, strings.Join(f.cells(), "\t"))
		}
	}
	_ = w.Flush()
	return b.String()
}

// missed are the rows that are worse than their limits.
func (r report) missed() []string {
	var all []string
	for _, o := range r.done {
		for _, f := range o.figures() {
			if !f.ok() {
				value := ratioText(f.ratio())
				if f.absolute {
					value = f.unit.format(f.value)
				}
				all = append(all, fmt.Sprintf("%s, %s, %s: %s, limit %s", f.work, f.who, f.title, value, f.limitText()))
			}
		}
	}
	return all
}

// growthCells is the table of costs by size, with its head.
func (o outcome) growthCells() [][]string {
	head := []string{"pods"}
	for _, s := range o.sides {
		head = append(head, s.name)
	}
	rows := [][]string{head}
	for _, r := range o.rows {
		if r.absolute {
			continue
		}
		cells := []string{r.title}
		for i := range o.sides {
			cells = append(cells, r.unit.format(o.medians[i][r.metric]))
		}
		rows = append(rows, cells)
	}
	return rows
}

// write writes the document and its charts.
func (r report) write(dir string) error {
	files := map[string]string{"benchmarks.md": r.markdown()}
	for name, svg := range r.charts() {
		files[name] = svg
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// markdown is the document.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Benchmarks

Written by `+"`make bench`"+`; do not edit. kinform and client-go v0.37.2 side by side, each run in a process of its own, in
turn, %d rounds; the medians count. %s pods (300 workloads, 1–4 containers, managedFields included), created
through a real kube-apiserver, multiplied in etcd; before anything is measured, each object of kinform's cache is compared
with what the server lists.

Only the ratios mean anything: clients and server shared %d cores (%s, %s/%s). The run took %.0f minutes.
Where a ratio has a limit, `+"`make bench`"+` fails when the ratio is worse.

`, r.rounds, thousands(float64(r.objects)), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, r.took.Minutes())
	charts := r.charts()
	if charts[ratiosChart] != "" {
		fmt.Fprintf(&b, "![How many times better than client-go, with the limit of each row](%s)\n\n", ratiosChart)
	}
	if charts[updatesChart] != "" {
		fmt.Fprintf(&b, "![Updates per second by number of handlers](%s)\n\n", updatesChart)
	}
	for _, o := range r.done {
		fmt.Fprintf(&b, "## %s%s\n\n%s\n\n", strings.ToUpper(o.title[:1]), o.title[1:], o.text)
		if o.grows {
			b.WriteString(markdownTable(o.growthCells()))
			fmt.Fprintf(&b, "\n![Time by number of pods](%s)\n\n![Memory by number of pods](%s)\n\n", growthTimeChart, growthMemoryChart)
		}
		rows := [][]string{{"", "client-go", "this", "ratio", "limit", ""}}
		who := ""
		for _, f := range o.figures() {
			if f.who != who {
				who = f.who
				rows = append(rows, []string{"**" + who + "**", "", "", "", "", ""})
			}
			rows = append(rows, f.cells())
		}
		if len(rows) > 1 {
			b.WriteString(markdownTable(rows) + "\n")
		}
	}
	b.WriteString("[packing.md](packing.md) compares ways of packing objects.\n")
	return b.String()
}

func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, cells := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(cells)))
		}
	}
	return b.String()
}
