package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The charts of the document.
const (
	ratiosChart       = "bench-ratios.svg"
	updatesChart      = "bench-updates.svg"
	growthTimeChart   = "bench-growth-time.svg"
	growthMemoryChart = "bench-growth-memory.svg"
)

// charts returns the charts that there is something for, by file name.
func (r report) charts() map[string]string {
	charts := map[string]string{}
	var ratios, rates []bar
	for _, o := range r.done {
		for _, f := range o.figures() {
			if f.limit > 0 && !f.absolute {
				ratios = append(ratios, f.bar())
			}
		}
		if handlers, ok := updatesOf(o.name); ok {
			for i, who := range []string{"client-go", "kinform"} {
				rate := o.medians[i]["updates/s"]
				rates = append(rates, bar{label: handlers + " handlers, " + who, value: rate, text: perSecond.format(rate), pale: i == 0})
			}
		}
		if o.grows {
			charts[growthTimeChart] = o.lineChart("Time, by number of pods", inSeconds)
			charts[growthMemoryChart] = o.lineChart("Memory, by number of pods", inBytes)
		}
	}
	if len(ratios) > 0 {
		charts[ratiosChart] = barChart("How many times better than client-go (line: the limit)", ratios)
	}
	if len(rates) > 0 {
		charts[updatesChart] = barChart("Updates per second through the whole path", rates)
	}
	return charts
}

// bar is a figure as a factor: above one, kinform is better.
func (f figure) bar() bar {
	value, limit := f.ratio(), f.limit
	if !f.more {
		value, limit = 1/max(value, 1e-9), 1/limit
	}
	who := ""
	if _, what, ok := strings.Cut(f.who, ", handler "); ok {
		who = ", " + what
	}
	return bar{label: f.work + who + ": " + f.title, value: value, mark: limit, text: fmt.Sprintf("%.1f", value), bad: !f.ok()}
}

// bar is one bar of a chart, on a logarithmic axis.
type bar struct {
	label, text string
	value       float64
	mark        float64 // a line across, 0 for none
	pale, bad   bool
}

// style is readable on white and on black; where the reader's preference is
// known, text follows it.
const style = `<style>
text { font: 12px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; font-size: 14px }
.good { fill: #2f81f7 } .bad { fill: #d1242f } .pale { fill: #8c959f }
.axis { stroke: #8c959f; stroke-width: 1; opacity: .4 } .mark { stroke: #bf8700; stroke-width: 2 }
.line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } }
</style>
`

func svg(width, height int, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">`+"\n%s%s</svg>\n",
		width, height, width, height, style, body)
}

func label(b *strings.Builder, x, y float64, class, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

// axis maps values to places, by their logarithms.
type axis struct {
	low, high float64 // powers of ten
	from, to  float64 // places
}

// newAxis spans the powers of ten around the values.
func newAxis(values []float64, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, math.Log10(v)), max(high, math.Log10(v))
		}
	}
	low, high = math.Floor(low), math.Ceil(high)
	if high <= low {
		high = low + 1
	}
	return axis{low, high, from, to}
}

func (a axis) at(v float64) float64 {
	part := (math.Log10(max(v, 1e-12)) - a.low) / (a.high - a.low)
	return a.from + (a.to-a.from)*min(max(part, 0), 1)
}

// ticks are the powers of ten on the axis.
func (a axis) ticks() []float64 {
	var all []float64
	for p := a.low; p <= a.high; p++ {
		all = append(all, math.Pow(10, p))
	}
	return all
}

func barChart(title string, bars []bar) string {
	const width, left, right, top, step = 1000, 560, 60, 50, 22
	values := []float64{1}
	for _, b := range bars {
		values = append(values, b.value, b.mark)
	}
	if bars[0].mark == 0 {
		values = values[1:]
	}
	a := newAxis(values, left, width-right)
	bottom := float64(top + step*len(bars))
	var s strings.Builder
	label(&s, 10, 20, "title", "start", title)
	for _, v := range a.ticks() {
		fmt.Fprintf(&s, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%.1f" class="axis"/>`+"\n", a.at(v), a.at(v), top-6, bottom)
		label(&s, a.at(v), top-10, "", "middle", tick(v))
	}
	start := a.at(max(1, math.Pow(10, a.low)))
	if bars[0].mark == 0 {
		start = a.from
	}
	for i, b := range bars {
		y := float64(top + step*i)
		x := a.at(b.value)
		class := "good"
		if b.bad {
			class = "bad"
		} else if b.pale {
			class = "pale"
		}
		label(&s, left-8, y+13, "", "end", b.label)
		fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="%.1f" height="14" class="%s"/>`+"\n", min(start, x), y+2, max(math.Abs(x-start), 1), class)
		if b.mark > 0 {
			fmt.Fprintf(&s, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="mark"/>`+"\n", a.at(b.mark), a.at(b.mark), y, y+18)
		}
		label(&s, max(x, start)+5, y+13, "", "start", b.text)
	}
	return svg(width, int(bottom)+15, s.String())
}

func tick(v float64) string {
	if v >= 1 {
		return thousands(v)
	}
	return fmt.Sprint(v)
}

var lineColours = []string{"#2f81f7", "#d1242f", "#2da44e", "#bf8700", "#8250df", "#bf3989", "#57a5a5"}

// lineChart draws every row of a unit over the sizes, both axes logarithmic.
func (o outcome) lineChart(title string, u unit) string {
	const width, height, left, right, top, bottom = 900, 420, 90, 270, 50, 40
	var sizes, values []float64
	for i, s := range o.sides {
		sizes = append(sizes, float64(s.task.Objects))
		for _, r := range o.rows {
			if r.unit == u && !r.absolute {
				values = append(values, o.medians[i][r.metric])
			}
		}
	}
	x, y := newAxis(sizes, left, width-right), newAxis(values, height-bottom, top)
	var s strings.Builder
	label(&s, 10, 20, "title", "start", title)
	for _, v := range y.ticks() {
		fmt.Fprintf(&s, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" class="axis"/>`+"\n", left, width-right, y.at(v), y.at(v))
		label(&s, left-8, y.at(v)+4, "", "end", u.format(v))
	}
	for _, v := range sizes {
		label(&s, x.at(v), height-bottom+20, "", "middle", thousands(v))
	}
	colour := 0
	var labels []float64 // where labels stand, so that none covers another
	for _, r := range o.rows {
		if r.unit != u || r.absolute {
			continue
		}
		var points []string
		for i := range o.sides {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x.at(sizes[i]), y.at(o.medians[i][r.metric])))
		}
		c := lineColours[colour%len(lineColours)]
		colour++
		fmt.Fprintf(&s, `<polyline points="%s" class="line" stroke="%s"/>`+"\n", strings.Join(points, " "), c)
		last := o.medians[len(o.sides)-1][r.metric]
		at := free(labels, y.at(last)+4)
		labels = append(labels, at)
		fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="8" height="8" fill="%s"/>`+"\n", width-right+8, at-9, c)
		label(&s, width-right+20, at, "", "start", r.title+": "+u.format(last))
	}
	return svg(width, height, s.String())
}

// free returns the place nearest to want that is not taken.
func free(taken []float64, want float64) float64 {
	const apart = 14
	for d := 0.0; ; d += 2 {
		for _, at := range []float64{want - d, want + d} {
			ok := true
			for _, t := range taken {
				ok = ok && math.Abs(t-at) >= apart
			}
			if ok {
				return at
			}
		}
	}
}
