package engine

import (
	"sync/atomic"
	"time"
)

// What costs nothing is always counted (Status, SubscriptionStatus). What needs a clock,
// or a counter that all readers share, is measured from the first call of Measure on.

// Measure has the collection measure, from now on, how long its handlers take, how late
// they are, and how many reads find an object decoded. It costs two looks at the clock for
// each call of a handler.
func (c *Collection) Measure() { c.measured.on.Store(true) }

// Reads returns how many reads of single objects and lists found an object decoded, and
// how many did not, since Measure. Those of handlers and index functions do not count.
func (c *Collection) Reads() (hits, misses uint64) {
	for i := range c.measured.hits {
		hits += c.measured.hits[i].n.Load()
	}
	return hits, c.measured.misses.Load()
}

// measured is what a collection measures of its readers.
type measured struct {
	on atomic.Bool
	// hits are counted in several places, by object: readers would otherwise wait for each
	// other's writes to one word.
	hits   [8]paddedCounter
	misses atomic.Uint64
}

// paddedCounter has a line of the processor's cache to itself.
type paddedCounter struct {
	n atomic.Uint64
	_ [56]byte
}

// hit counts a read that found an object decoded.
func (c *Collection) hit(r *Record) {
	if c.measured.on.Load() {
		c.measured.hits[r.number%uint64(len(c.measured.hits))].n.Add(1)
	}
}

// hitAll counts as many reads.
func (c *Collection) hitAll(n int) {
	if c.measured.on.Load() && n > 0 {
		c.measured.hits[0].n.Add(uint64(n))
	}
}

// missed counts a read that found an object not decoded.
func (c *Collection) missed() {
	if c.measured.on.Load() {
		c.measured.misses.Add(1)
	}
}

// isRead reports whether a use is that of a reader.
func (u Use) isRead() bool { return u == Read || u == ReadAll || u == Sweep }

// stampOf returns a moment as a delta holds it: in milliseconds, which repeat after seven
// weeks. Zero is none.
func stampOf(t time.Time) uint32 {
	return max(uint32(t.Sub(clockStart)/time.Millisecond), 1)
}

// since returns how long before a moment a stamp was made.
func since(stamp uint32, now time.Time) time.Duration {
	// A stamp that was made at the same time as now may be ahead of it by one.
	return time.Duration(max(int32(stampOf(now)-stamp), 0)) * time.Millisecond
}

// Limits of the buckets of durations, in seconds; what took longer is in one more.
var (
	HandlerBuckets = []float64{.0001, .001, .01, .1, 1, 10}
	DelayBuckets   = []float64{.001, .01, .1, 1, 10, 60}
)

// buckets counts durations. It has one writer.
type buckets struct {
	count [7]atomic.Uint64
	sum   atomic.Int64
}

func (b *buckets) add(d time.Duration, limits []float64) {
	i := 0
	for i < len(limits) && d.Seconds() > limits[i] {
		i++
	}
	b.count[i].Add(1)
	b.sum.Add(int64(d))
}

// Durations are how long something took, counted.
type Durations struct {
	// Counts are how many took no longer than the limit of each bucket, and longer than
	// that before; the last one those that took longer than all limits.
	Counts []uint64
	Sum    time.Duration
}

func (b *buckets) get() Durations {
	d := Durations{Sum: time.Duration(b.sum.Load())}
	for i := range b.count {
		d.Counts = append(d.Counts, b.count[i].Load())
	}
	return d
}

// timing is what is measured of one subscriber.
type timing struct {
	inHand atomic.Uint32 // the stamp of the delta that the handler was called for; 0: none
	took   buckets
	late   buckets
}

// called notes that the handler is about to be called.
func (t *timing) called(d Delta, now time.Time) {
	t.inHand.Store(d.stamp)
	t.late.add(since(d.stamp, now), DelayBuckets)
}

// returned notes that the handler has returned, or has panicked.
func (t *timing) returned(took time.Duration) {
	t.inHand.Store(0)
	t.took.add(took, HandlerBuckets)
}

// begin notes that the handler is about to be called, if somebody wants to know.
func (s *Subscription) begin(d Delta) stopwatch {
	if !s.collection.measured.on.Load() {
		return s.collection.stopwatch()
	}
	now := time.Now()
	s.timing.called(d, now)
	return stopwatch{now}
}

// end notes that the handler has returned.
func (s *Subscription) end(d Delta, watch stopwatch) {
	if watch.began.IsZero() {
		return
	}
	took := watch.took()
	s.timing.returned(took)
	if s.collection.observed() {
		s.collection.observe(Observation{Point: PointDelivered, Subscriber: s.options.Name, Key: d.Key(), Took: took})
	}
}

// lag is how long the change waits that is with the handler, or else the first in its queue.
func (s *Subscription) lag() time.Duration {
	stamp := s.timing.inHand.Load()
	if stamp == 0 {
		stamp = s.queue.oldest()
	}
	if stamp == 0 {
		return 0
	}
	return since(stamp, time.Now())
}

// ArrivedAt is about when the change came into the store, to the millisecond. Of one that was
// merged of several, it is when the first of them did.
func (d Delta) ArrivedAt() time.Time {
	now := time.Now()
	return now.Add(-since(d.stamp, now))
}

// oldest returns the stamp of the first delta that waits; 0 if none does.
func (q *DeltaFIFO) oldest() uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.latest != nil {
		for _, d := range q.latest.deltas[q.latest.first:] {
			if d.stamp != 0 { // it is no mark, and was not dropped
				return d.stamp
			}
		}
		return 0
	}
	for _, b := range q.batches {
		for _, d := range b {
			if d.stamp != 0 {
				return d.stamp
			}
		}
	}
	return 0
}
