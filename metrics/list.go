package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// merge says how two values with the same labels are combined.
type merge uint8

const (
	sum merge = iota
	largest
	smallest
)

// metric describes one exported metric.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	merge      merge
	labels     []string
	histogram  bool
	desc       *prometheus.Desc
}

var all []*metric

func define(m metric) *metric {
	m.desc = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	all = append(all, &m)
	return &m
}

// ofInformer and ofSubscriber are the labels of every metric of an informer or a
// subscriber.
var (
	ofInformer   = []string{"informer"}
	ofSubscriber = []string{"informer", "subscriber"}
)

func counter(name, help string, labels ...string) *metric {
	return define(metric{name: name, help: help, kind: prometheus.CounterValue, labels: slices.Concat(ofInformer, labels)})
}

func gauge(name, help string, m merge, labels ...string) *metric {
	return define(metric{name: name, help: help, kind: prometheus.GaugeValue, merge: m, labels: slices.Concat(ofInformer, labels)})
}

func subscriberCounter(name, help string) *metric {
	return define(metric{name: name, help: help, kind: prometheus.CounterValue, labels: ofSubscriber})
}

func subscriberGauge(name, help string, m merge) *metric {
	return define(metric{name: name, help: help, kind: prometheus.GaugeValue, merge: m, labels: ofSubscriber})
}

func subscriberHistogram(name, help string) *metric {
	return define(metric{name: name, help: help, histogram: true, labels: ofSubscriber})
}

// What the process has.
var informers = define(metric{
	name: "kinform_informers", help: "Informers that are shown here, each with its own watch and store.", kind: prometheus.GaugeValue,
})

// What the store holds.
var (
	info = gauge("kinform_informer_info", "What the informer selects; always 1.", largest,
		"resource", "namespaces", "label_selector", "field_selector")
	synced         = gauge("kinform_synced", "1 once the first list is in the store.", smallest)
	objects        = gauge("kinform_objects", "Objects in the store.", sum)
	sentBytes      = gauge("kinform_sent_bytes", "What the server sent of the objects in the store.", sum)
	atRestBytes    = gauge("kinform_at_rest_bytes", "What the objects in the store take, packed.", sum)
	youngBytes     = gauge("kinform_young_bytes", "States in the Go heap, as they changed lately.", sum)
	mappedBytes    = gauge("kinform_mapped_bytes", "Memory outside of the Go heap.", sum)
	liveBytes      = gauge("kinform_live_bytes", "The part of the mapped memory that holds states in the store.", sum)
	decodedObjects = gauge("kinform_decoded_objects", "Objects that are decoded.", sum)
	decodedBytes   = gauge("kinform_decoded_bytes", "About what decoded objects take, by what they are decoded for.", sum, "use")
	reads          = counter("kinform_reads_total", "Reads that found the object decoded (hit), and that did not (miss).", "result")
	rejected       = counter("kinform_rejected_objects_total", "Objects that could not be scanned, decoded or indexed.")
	mutated        = counter("kinform_mutated_objects_total", "Objects that a reader was found to have changed.")
)

// What comes from the server.
var (
	sources       = gauge("kinform_sources", "Lists and watches of the informer, one or one per namespace, by state.", sum, "state")
	lists         = counter("kinform_lists_total", "Lists that were begun, by cause; all but the first are relists.", "cause")
	listSeconds   = counter("kinform_list_seconds_total", "Time that lists took until they were in the store.")
	watches       = counter("kinform_watches_total", "Watches that were begun.")
	reconnects    = counter("kinform_reconnects_total", "Watches that were begun because the one before had broken.")
	expired       = counter("kinform_expired_total", "Watches whose version the server had forgotten (410).")
	epochs        = counter("kinform_history_went_back_total", "How often the server's history went back.")
	failures      = counter("kinform_failures_total", "Lists and watches that failed, by reason.", "reason")
	failuresInRow = gauge("kinform_failures_in_a_row", "Failures since something last succeeded, of the worst namespace.", largest)
	watchAge      = gauge("kinform_watch_age_seconds", "How long the present watch has been open, of the youngest.", smallest)
	staleness     = gauge("kinform_staleness_seconds", "How long ago the server last confirmed the state, of the stalest namespace.", largest)
	syncDuration  = gauge("kinform_sync_duration_seconds", "How long it took until the first list was in the store, of the slowest namespace.", largest)
	events        = counter("kinform_events_total", "Events that watches have brought, without bookmarks.")
	bookmarks     = counter("kinform_bookmarks_total", "Bookmarks that watches have brought.")
	staleEvents   = counter("kinform_stale_events_total", "Events that were left out, as the store had that state or a newer one.")
)

// What handlers get.
var (
	subscriberSynced = subscriberGauge("kinform_subscriber_synced", "1 once the handler has returned from every object of the initial list.", smallest)
	backlog          = subscriberGauge("kinform_subscriber_backlog", "Changes that wait for the handler.", sum)
	lag              = subscriberGauge("kinform_subscriber_lag_seconds", "How long the oldest change has waited that the handler has not returned from.", largest)
	delivered        = subscriberCounter("kinform_subscriber_delivered_total", "Changes that the handler got.")
	refused          = subscriberCounter("kinform_subscriber_refused_total", "Changes that the subscriber's filter kept from the handler.")
	merged           = subscriberCounter("kinform_subscriber_merged_total", "Changes that were merged into others, as the handler lagged or asked for it.")
	panics           = subscriberCounter("kinform_subscriber_panics_total", "Panics of the handler.")
	handlerDuration  = subscriberHistogram("kinform_subscriber_handler_duration_seconds", "How long the handler took for a change.")
	deliveryDelay    = subscriberHistogram("kinform_subscriber_delivery_delay_seconds", "How long a change was in the store when the handler was called for it.")
)
