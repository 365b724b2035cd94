package cache

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// Shared informers report to client-go's providers of metrics, where a program has set
// them. What package metrics shows does not go this way.

// meters are the metrics of one shared informer, by client-go's names. The queue is what
// lies between the store and all handlers.
type meters struct {
	queue   queueMetrics
	version versionGauge
}

// newMeters returns the metrics of an informer; nil if it is not to report.
func newMeters(o SharedIndexInformerOptions) *meters {
	if metricsFor(o.Identifier, o.InformerMetricsProvider) == nil {
		return nil
	}
	return &meters{
		queue:   newQueueMetrics(o.Identifier, o.InformerMetricsProvider),
		version: newVersionGauge(o.Identifier, o.InformerMetricsProvider),
	}
}

// handled reports that a handler has returned.
func (s *sharedIndexInformer) handled(began time.Time) {
	s.meters.queue.latency.Observe(time.Since(began).Seconds())
	s.report()
}

// report reports how much waits, and what the store has reached.
func (s *sharedIndexInformer) report() {
	s.mu.Lock()
	core, waiting := s.core, 0
	for r := range s.handlers {
		if r.sub != nil {
			waiting += r.sub.Waiting()
		}
	}
	s.mu.Unlock()
	s.meters.queue.waiting.Set(float64(waiting))
	s.meters.version.set(core.Version().String())
}

// reporting has the core tell its informers when something has come, for those that report.
func (c *core) reporting() {
	c.reports.Do(func() {
		c.Observe(func(o engine.Observation) {
			if o.Point != engine.PointListed && o.Point != engine.PointApplied {
				return
			}
			for _, m := range c.running() {
				if m.meters != nil {
					m.report()
				}
			}
		})
	})
}

var (
	reflectorMetrics    atomic.Pointer[MetricsProvider]
	setReflectorMetrics sync.Once
)

// reflectorMeters are the metrics of one list and watch, by client-go's names.
type reflectorMeters struct {
	lists, watches, shortWatches              CounterMetric
	listTime, listItems, watchTime, watchSize SummaryMetric
	version                                   versionGauge
}

// reportReflector has what a core lists and watches reported, if a provider was set.
func (c *core) reportReflector(name string) {
	set := reflectorMetrics.Load()
	if set == nil {
		return
	}
	p := *set
	m := reflectorMeters{
		lists: p.NewListsMetric(name), listTime: p.NewListDurationMetric(name), listItems: p.NewItemsInListMetric(name),
		watches: p.NewWatchesMetric(name), shortWatches: p.NewShortWatchesMetric(name),
		watchTime: p.NewWatchDurationMetric(name), watchSize: p.NewItemsInWatchMetric(name),
		version: versionGauge{p.NewLastResourceVersionMetric(name)},
	}
	c.Observe(func(o engine.Observation) {
		m.observe(o)
		if o.Point == engine.PointListed || o.Point == engine.PointApplied {
			m.version.set(c.Version().String())
		}
	})
}

func (m *reflectorMeters) observe(o engine.Observation) {
	switch o.Point {
	case engine.PointList:
		m.lists.Inc()
	case engine.PointListed:
		m.listTime.Observe(o.Took.Seconds())
		m.listItems.Observe(float64(o.Count))
	case engine.PointWatch:
		m.watches.Inc()
	case engine.PointWatched:
		m.watchTime.Observe(o.Took.Seconds())
		m.watchSize.Observe(float64(o.Count))
		if o.Count == 0 && o.Took < time.Second {
			m.shortWatches.Inc()
		}
	}
}
