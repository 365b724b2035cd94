package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/engine"
)

// scrape holds what is exported at one time: one value for each metric and its labels.
type scrape struct {
	at      map[series]int
	samples []sample
}

type series struct {
	metric *metric
	labels string // joined
}

type sample struct {
	metric *metric
	labels []string
	value  float64
	of     *describe.Durations // of a histogram
}

func newScrape() *scrape { return &scrape{at: map[series]int{}} }

// add adds a value to the sample with the same labels.
func (s *scrape) add(m *metric, value float64, labels ...string) {
	at, fresh := s.find(m, labels)
	have := &s.samples[at]
	switch {
	case fresh:
		have.value = value
	case m.merge == largest:
		have.value = max(have.value, value)
	case m.merge == smallest:
		have.value = min(have.value, value)
	default:
		have.value += value
	}
}

// addDurations adds a histogram to the sample with the same labels.
func (s *scrape) addDurations(m *metric, d *describe.Durations, labels ...string) {
	if d == nil {
		return
	}
	at, fresh := s.find(m, labels)
	have := &s.samples[at]
	if fresh {
		have.of = &describe.Durations{Limits: d.Limits, Counts: slices.Clone(d.Counts), Sum: d.Sum}
		return
	}
	have.of.Sum += d.Sum
	for i, n := range d.Counts {
		have.of.Counts[i] += n
	}
}

// find returns the position of the sample of a metric and its labels.
func (s *scrape) find(m *metric, labels []string) (at int, fresh bool) {
	key := series{m, strings.Join(labels, "\x00")}
	at, ok := s.at[key]
	if !ok {
		at = len(s.samples)
		s.at[key] = at
		s.samples = append(s.samples, sample{metric: m, labels: labels})
	}
	return at, !ok
}

// send sends all samples to Prometheus.
func (s *scrape) send(to chan<- prometheus.Metric) {
	for _, x := range s.samples {
		if !x.metric.histogram {
			to <- prometheus.MustNewConstMetric(x.metric.desc, x.metric.kind, x.value, x.labels...)
			continue
		}
		buckets, n := map[float64]uint64{}, uint64(0)
		for i, limit := range x.of.Limits {
			n += x.of.Counts[i]
			buckets[limit] = n
		}
		n += x.of.Counts[len(x.of.Limits)]
		to <- prometheus.MustNewConstHistogram(x.metric.desc, n, time.Duration(x.of.Sum).Seconds(), buckets, x.labels...)
	}
}

// informer shows an informer.
func (s *scrape) informer(name string, d describe.Description) {
	if name == other {
		s.add(info, 1, name, "", "", "", "")
	} else {
		s.add(info, 1, name, resourceOf(d), namespacesOf(d), labelOf(d.Source.LabelSelector), labelOf(d.Source.FieldSelector))
	}
	s.add(synced, oneIf(d.Status.Synced), name)
	s.store(name, d.Store)
	for _, state := range states {
		s.add(sources, 0, name, state)
	}
	for _, cause := range engine.Causes {
		s.add(lists, 0, name, string(cause))
	}
	for _, src := range d.Status.Sources {
		s.source(name, src, d.At)
	}
}

// states are those that a source can be in.
var states = func() (all []string) {
	for s := engine.Idle; s.String() != "unknown"; s++ {
		all = append(all, s.String())
	}
	return all
}()

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// store shows what an informer holds.
func (s *scrape) store(name string, st describe.Store) {
	for m, bytes := range map[*metric]int64{
		sentBytes: st.Bytes, atRestBytes: st.Packed,
		youngBytes: st.Memory.Young, mappedBytes: st.Memory.Mapped, liveBytes: st.Memory.Live,
	} {
		s.add(m, float64(bytes), name)
	}
	s.add(objects, float64(st.Objects), name)
	decoded := 0
	for _, d := range st.Decoded {
		decoded += d.Objects
	}
	s.add(decodedObjects, float64(decoded), name)
	s.add(decodedBytes, float64(st.Memory.Kept), name, "readers")
	s.add(decodedBytes, float64(st.Memory.Passing), name, "passing")
	s.add(decodedBytes, float64(st.Memory.Shared), name, "shared")
	s.add(reads, float64(st.Hits), name, "hit")
	s.add(reads, float64(st.Misses), name, "miss")
	s.add(rejected, float64(st.Rejected), name)
	s.add(mutated, float64(st.Mutated), name)
}

// source shows one list and watch.
func (s *scrape) source(name string, src describe.SourceStatus, now time.Time) {
	s.add(sources, 1, name, src.State)
	for cause, n := range src.ListsBy {
		s.add(lists, float64(n), name, cause)
	}
	for reason, n := range src.Failures {
		s.add(failures, float64(n), name, cmp.Or(reason, "unknown"))
	}
	for m, n := range map[*metric]uint64{
		watches: src.Watches, reconnects: src.Reconnects, expired: src.Expired, epochs: src.Epochs,
		events: src.Events, bookmarks: src.Bookmarks, staleEvents: src.Stale,
	} {
		s.add(m, float64(n), name)
	}
	s.add(listSeconds, time.Duration(src.ListTime).Seconds(), name)
	s.add(failuresInRow, float64(src.Attempts), name)
	if !src.WatchedSince.IsZero() {
		s.add(watchAge, max(now.Sub(src.WatchedSince).Seconds(), 0), name)
	}
	if !src.LastContact.IsZero() {
		s.add(staleness, max(now.Sub(src.LastContact).Seconds(), 0), name)
	}
	if src.Synced {
		s.add(syncDuration, time.Duration(src.SyncTook).Seconds(), name)
	}
}

// subscribers shows the subscribers of an informer, each once, even if several
// descriptions have it. Without names they are all summed up.
func (s *scrape) subscribers(informer string, n *names, of []describe.Description) {
	byID := map[uint64]describe.Handler{}
	there := map[uint64]bool{}
	for _, d := range of {
		for _, h := range d.Handlers {
			if h.Queue != nil {
				byID[h.ID], there[h.ID] = h, true
			}
		}
	}
	if n != nil {
		n.keep(there)
	}
	ids := make([]uint64, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		name := other
		if n != nil {
			name = n.name(id, labelOf(byID[id].Name))
		}
		s.subscriber(informer, name, byID[id])
	}
}

func (s *scrape) subscriber(informer, name string, h describe.Handler) {
	q := h.Queue
	s.add(subscriberSynced, oneIf(h.Synced), informer, name)
	s.add(backlog, float64(q.Waiting), informer, name)
	s.add(lag, time.Duration(q.Lag).Seconds(), informer, name)
	for m, n := range map[*metric]uint64{delivered: q.Delivered, refused: q.Refused, merged: q.Merged, panics: q.Panics} {
		s.add(m, float64(n), informer, name)
	}
	s.addDurations(handlerDuration, q.Took, informer, name)
	s.addDurations(deliveryDelay, q.Late, informer, name)
}
