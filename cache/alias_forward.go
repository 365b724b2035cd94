package cache

import (
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	clientgo "k8s.io/client-go/tools/cache"
)

// Parts that are client-go's own, here under the names people know.
type (
	FIFO            = clientgo.FIFO
	Heap            = clientgo.Heap
	LessFunc        = clientgo.LessFunc
	UndeltaStore    = clientgo.UndeltaStore
	FakeCustomStore = clientgo.FakeCustomStore

	ExpirationCache      = clientgo.ExpirationCache
	ExpirationPolicy     = clientgo.ExpirationPolicy
	FakeExpirationPolicy = clientgo.FakeExpirationPolicy
	TTLPolicy            = clientgo.TTLPolicy
	TimestampedEntry     = clientgo.TimestampedEntry

	MutationCache             = clientgo.MutationCache
	ResourceVersionComparator = clientgo.ResourceVersionComparator

	RetryWithDeadline = clientgo.RetryWithDeadline

	InformerName            = clientgo.InformerName
	InformerNameAndResource = clientgo.InformerNameAndResource

	MetricsProvider         = clientgo.MetricsProvider
	InformerMetricsProvider = clientgo.InformerMetricsProvider
	CounterMetric           = clientgo.CounterMetric
	GaugeMetric             = clientgo.GaugeMetric
	HistogramMetric         = clientgo.HistogramMetric
	SummaryMetric           = clientgo.SummaryMetric
)

// NewFIFO returns a queue that keeps the newest state of each object.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	return clientgo.NewFIFO(keyFunc)
}

// NewHeap returns a queue that is ordered by lessFn.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap {
	return clientgo.NewHeap(keyFn, lessFn)
}

// NewUndeltaStore returns a store that pushes its whole content on each change.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return clientgo.NewUndeltaStore(pushFunc, keyFunc)
}

// NewExpirationStore returns a store whose objects expire by a policy.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return clientgo.NewExpirationStore(keyFunc, expirationPolicy)
}

// NewTTLStore returns a store whose objects expire after a time.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store {
	return clientgo.NewTTLStore(keyFunc, ttl)
}

// NewFakeExpirationStore returns an expiring store for tests.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	return clientgo.NewFakeExpirationStore(keyFunc, deletedKeys, expirationPolicy, cacheClock)
}

// NewIntegerResourceVersionMutationCache lays one's own writes over a store that
// has not seen them yet.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return clientgo.NewIntegerResourceVersionMutationCache(logger, backingCache, indexer, ttl, includeAdds)
}

// NewRetryWithDeadline decides how long errors are worth another attempt.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return clientgo.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}

// NewInformerName reserves a name for the metrics of informers.
func NewInformerName(name string) (*InformerName, error) {
	return clientgo.NewInformerName(name)
}

// ResetInformerNamesForTesting releases all reserved names.
func ResetInformerNamesForTesting() {
	clientgo.ResetInformerNamesForTesting()
}

// SetReflectorMetricsProvider sets where the lists and watches of shared informers made
// from now on are reported. Only the first call has an effect. No reflector reports there,
// client-go's included.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	setReflectorMetrics.Do(func() { reflectorMetrics.Store(&metricsProvider) })
	clientgo.SetReflectorMetricsProvider(metricsProvider)
}
