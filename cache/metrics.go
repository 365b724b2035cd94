package cache

import (
	"strconv"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"
)

// informerMetrics is the provider of informers that are given none; nil: nothing is
// reported.
var (
	informerMetrics    atomic.Pointer[InformerMetricsProvider]
	setInformerMetrics sync.Once
	_                  GaugeMetric     = silent{}
	_                  HistogramMetric = silent{}
)

// SetInformerMetricsProvider sets where informers made from now on report to,
// kinform's and client-go's. Only the first call has an effect.
func SetInformerMetricsProvider(metricsProvider InformerMetricsProvider) {
	setInformerMetrics.Do(func() { informerMetrics.Store(&metricsProvider) })
	clientgo.SetInformerMetricsProvider(metricsProvider)
}

// metricsFor finds the provider for an informer; nil if it is not to report,
// because there is no provider or its identity is not reserved.
func metricsFor(id InformerNameAndResource, provider InformerMetricsProvider) InformerMetricsProvider {
	if !id.Reserved() {
		return nil
	}
	if provider == nil {
		if global := informerMetrics.Load(); global != nil {
			return *global
		}
	}
	return provider
}

// silent is a metric that nobody reads.
type silent struct{}

func (silent) Set(float64)     {}
func (silent) Observe(float64) {}

// versionGauge shows a resource version as a number.
type versionGauge struct{ gauge GaugeMetric }

func newVersionGauge(id InformerNameAndResource, provider InformerMetricsProvider) versionGauge {
	if p := metricsFor(id, provider); p != nil {
		return versionGauge{p.NewStoreResourceVersionMetric(id)}
	}
	return versionGauge{silent{}}
}

// exactDigits is how many decimal digits a float64 holds for certain.
const exactDigits = 15

// set shows the last digits of a version that is a number; another is left out.
func (g versionGauge) set(version string) {
	if g.gauge == (silent{}) {
		return
	}
	if version == "" {
		g.gauge.Set(0)
		return
	}
	n, err := strconv.ParseInt(version[max(0, len(version)-exactDigits):], 10, 64)
	if err == nil {
		g.gauge.Set(float64(n))
	}
}

// queueMetrics shows how a queue is doing.
type queueMetrics struct {
	waiting GaugeMetric
	latency HistogramMetric
}

func newQueueMetrics(id InformerNameAndResource, provider InformerMetricsProvider) queueMetrics {
	if p := metricsFor(id, provider); p != nil {
		return queueMetrics{waiting: p.NewQueuedItemMetric(id), latency: p.NewProcessingLatencyMetric(id)}
	}
	return queueMetrics{waiting: silent{}, latency: silent{}}
}
