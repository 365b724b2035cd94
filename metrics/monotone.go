package metrics

import "github.com/prometheus/client_golang/prometheus"

// carry is what a counter had before parts of it went: a namespace that left the scope, or
// one of those that share the name "other".
type carry struct{ last, lost float64 }

// keepCounting has counters never go back while their series is there.
func (s *scrape) keepCounting(before map[series]carry) map[series]carry {
	now := make(map[series]carry, len(before))
	for key, at := range s.at {
		x := &s.samples[at]
		if x.metric.kind != prometheus.CounterValue || x.metric.histogram {
			continue
		}
		c := before[key]
		c.lost += max(0, c.last-x.value)
		c.last = x.value
		x.value += c.lost
		now[key] = c
	}
	return now
}
