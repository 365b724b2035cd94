package chaos

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// plane is where the curve is drawn.
type plane struct {
	width, height, left, right, top, bottom float64
	lasts                                   time.Duration
	most                                    float64 // bytes
}

func (p plane) x(at time.Duration) float64 {
	return p.left + (p.width-p.left-p.right)*float64(at)/float64(max(p.lasts, 1))
}

func (p plane) y(v float64) float64 {
	return p.height - p.bottom - (p.height-p.top-p.bottom)*v/max(p.most, 1)
}

// Text is readable on white and on black; where the reader's preference is known, it
// follows it.
const curveStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; font-size: 14px }
.axis { stroke: #8c959f; stroke-width: 1; opacity: .4 } .warm { fill: #8c959f; opacity: .12 }
.line { fill: none; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } }
</style>
`

// curves are what is drawn, each in its colour.
var curves = []struct {
	series Series
	colour string
}{{rssSeries, "#2f81f7"}, {heapSeries, "#2da44e"}, {outsideSeries, "#bf8700"}}

// curve draws memory over time as SVG.
func (r *Report) curve() string {
	p := plane{width: 900, height: 380, left: 80, right: 220, top: 50, bottom: 40, lasts: r.Time}
	for _, s := range r.Memory.Samples {
		p.most = max(p.most, float64(s.RSS), float64(s.Heap))
	}
	step := roundStep(p.most / 6)
	p.most = math.Ceil(p.most/step) * step
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">`+"\n", p.width, p.height, p.width, p.height)
	b.WriteString(curveStyle)
	write(&b, 10, 20, "title", "start", fmt.Sprintf("Memory of the soak on %s, %s", r.Server, r.Time.Round(time.Second)))
	fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="warm"/>`+"\n", p.left, p.top, p.x(r.Memory.Warmup)-p.left, p.height-p.top-p.bottom)
	write(&b, p.left+4, p.top+14, "", "start", "warm-up")
	for v := 0.0; v <= p.most; v += step {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="axis"/>`+"\n", p.left, p.width-p.right, p.y(v), p.y(v))
		write(&b, p.left-8, p.y(v)+4, "", "end", fmt.Sprintf("%.0f MiB", v/(1<<20)))
	}
	for i := range 7 {
		at := r.Time * time.Duration(i) / 6
		write(&b, p.x(at), p.height-p.bottom+20, "", "middle", at.Round(time.Second).String())
	}
	for i, c := range curves {
		r.draw(&b, p, c.series, c.colour, p.top+14+float64(i)*20)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw draws one line and its legend. An hour has more samples than the picture has
// room for: the median of those that fall on one place is drawn.
func (r *Report) draw(b *strings.Builder, p plane, s Series, colour string, legend float64) {
	const places = 300
	samples := r.Memory.Samples
	each := max(1, len(samples)/places)
	var points []string
	for from := 0; from < len(samples); from += each {
		some := samples[from:min(from+each, len(samples))]
		points = append(points, fmt.Sprintf("%.1f,%.1f", p.x(some[len(some)/2].At), p.y(float64(median(some, s.Of)))))
	}
	fmt.Fprintf(b, `<polyline points="%s" class="line" stroke="%s"/>`+"\n", strings.Join(points, " "), colour)
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"/>`+"\n", p.width-p.right+8, legend-8, colour)
	text := s.Name
	if len(samples) > 0 {
		last := samples[max(0, len(samples)-int(time.Minute/sampleEvery)):]
		text += ": " + s.amount(median(last, s.Of))
	}
	write(b, p.width-p.right+20, legend, "", "start", text)
}

func write(b *strings.Builder, x, y float64, class, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

// roundStep is the power of two of mebibytes that is at least as much.
func roundStep(bytes float64) float64 {
	step := float64(1 << 20)
	for step < bytes {
		step *= 2
	}
	return step
}
