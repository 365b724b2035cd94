package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/describe"
)

// carry is what a series counted for parts that have gone: a namespace that left the
// scope, or one of those that share the name "other". A counter has one value, a
// histogram one for each bucket and the sum.
type carry struct{ last, lost []float64 }

// keepCounting makes sure that counters and histograms never decrease while their
// series exists.
func (s *scrape) keepCounting(before map[series]carry) map[series]carry {
	now := make(map[series]carry, len(before))
	for key, at := range s.at {
		switch x := &s.samples[at]; {
		case x.metric.histogram:
			var values []float64
			values, now[key] = before[key].onward(durationValues(x.of))
			x.of = durationsOf(x.of.Limits, values)
		case x.metric.kind == prometheus.CounterValue:
			var values []float64
			values, now[key] = before[key].onward([]float64{x.value})
			x.value = values[0]
		}
	}
	return now
}

// onward returns values plus what has been lost of them so far.
func (c carry) onward(values []float64) (shown []float64, next carry) {
	next = carry{last: values, lost: make([]float64, len(values))}
	copy(next.lost, c.lost)
	shown = slices.Clone(values)
	for i, v := range values {
		if i < len(c.last) {
			next.lost[i] += max(0, c.last[i]-v)
		}
		shown[i] += next.lost[i]
	}
	return shown, next
}

// durationValues are the counts of a histogram, and its sum.
func durationValues(d *describe.Durations) []float64 {
	values := make([]float64, 0, len(d.Counts)+1)
	for _, n := range d.Counts {
		values = append(values, float64(n))
	}
	return append(values, float64(d.Sum))
}

func durationsOf(limits, values []float64) *describe.Durations {
	last := len(values) - 1
	d := &describe.Durations{Limits: limits, Counts: make([]uint64, last), Sum: describe.Duration(values[last])}
	for i, v := range values[:last] {
		d.Counts[i] = uint64(v)
	}
	return d
}
