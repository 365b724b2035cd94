package chaos

import (
	"bytes"
	"fmt"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Sample is what the process took at a moment. What the host does not tell is 0.
type Sample struct {
	At time.Duration // since the run began
	// RSS is resident memory, Heap what the last collection found alive, Outside
	// the resident anonymous memory that is not the Go runtime's: the engine's slabs.
	RSS, Heap, Outside int64
	Goroutines         int64
	CPU                time.Duration // used so far
}

// Memory is what the process took over a run.
type Memory struct {
	Samples []Sample
	// Warmup is the time that does not count for growth: stores, histories and
	// pools fill up.
	Warmup time.Duration
}

const (
	// sampleEvery is the time between two samples.
	sampleEvery = 2 * time.Second
	// warmup of a long run; a short one has a sixth of its time.
	warmup = 10 * time.Minute
	// judgedFrom is how long a run must go on after the warm-up for its growth to be
	// judged. In less, a quarter is too few collections and relists for a median.
	judgedFrom = 20 * time.Minute
)

// Series is one figure of the samples.
type Series struct {
	Name string
	Unit string // "bytes", or what is counted
	Of   func(Sample) int64
	// Tolerance is by how much the median of the last quarter may be above that of
	// the first. A leak of one object of 100 KB in five seconds is 44 MiB in the 37
	// minutes between the two quarters of an hour's run.
	Tolerance int64
}

var (
	rssSeries     = Series{"resident", "bytes", func(s Sample) int64 { return s.RSS }, 24 << 20}
	heapSeries    = Series{"live heap", "bytes", func(s Sample) int64 { return s.Heap }, 8 << 20}
	outsideSeries = Series{"outside the heap", "bytes", func(s Sample) int64 { return s.Outside }, 8 << 20}
	routineSeries = Series{"goroutines", "goroutines", func(s Sample) int64 { return s.Goroutines }, 20}
	allSeries     = []Series{rssSeries, heapSeries, outsideSeries, routineSeries}
)

// sampler takes samples in a goroutine of its own.
type sampler struct {
	began time.Time
	stop  chan struct{}
	done  sync.WaitGroup
	mu    sync.Mutex
	taken []Sample
}

func startSampler(began time.Time, lasts time.Duration) *sampler {
	// The room is made beforehand: samples must not show up in the samples.
	s := &sampler{began: began, stop: make(chan struct{}), taken: make([]Sample, 0, int(lasts/sampleEvery)+1024)}
	s.done.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.take()
			case <-s.stop:
				return
			}
		}
	})
	return s
}

func (s *sampler) take() {
	now := takeSample(time.Since(s.began))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, now)
}

// last returns the newest sample.
func (s *sampler) last() Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) == 0 {
		return Sample{}
	}
	return s.taken[len(s.taken)-1]
}

func (s *sampler) end() []Sample {
	close(s.stop)
	s.done.Wait()
	return s.taken
}

func takeSample(at time.Duration) Sample {
	m := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(m)
	value := func(i int) int64 {
		if m[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(m[i].Value.Uint64())
	}
	s := Sample{At: at, Heap: value(0), Goroutines: value(1), CPU: processTime()}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return s
	}
	s.RSS = kilobytes(status, "VmRSS:")
	// Some of the runtime's own memory was never touched, so this is a lower bound.
	s.Outside = max(0, kilobytes(status, "RssAnon:")-(value(2)-value(3)))
	return s
}

// kilobytes reads a line of /proc/self/status, in bytes.
func kilobytes(status []byte, word string) int64 {
	_, rest, _ := bytes.Cut(status, []byte(word))
	words := bytes.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(words[0]), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// Growth is how a figure has moved after the warm-up.
type Growth struct {
	Series
	// First and Last are the medians of the first and the last quarter.
	First, Last int64
	// AtWarmup and AtEnd are medians of the minute around the end of the warm-up,
	// and of the last minute.
	AtWarmup, AtEnd int64
	// Judged: the run was long enough to tell.
	Judged bool
}

// By is by how much it has grown.
func (g Growth) By() int64 { return g.Last - g.First }

// Exceeded reports whether it has grown by more than its tolerance.
func (g Growth) Exceeded() bool { return g.Judged && g.By() > g.Tolerance }

func (g Growth) verdict() string {
	switch {
	case !g.Judged:
		return "too short to be judged"
	case g.Exceeded():
		return fmt.Sprintf("GROWN by more than %s", g.amount(g.Tolerance))
	}
	return "not grown"
}

// Growth compares the quarters of the time after the warm-up. Medians do not mind
// the saw teeth of the collector, nor that a server was just restarted.
func (m Memory) Growth() []Growth {
	from := slices.IndexFunc(m.Samples, func(s Sample) bool { return s.At >= m.Warmup })
	if from < 0 || len(m.Samples)-from < 8 {
		return nil
	}
	after := m.Samples[from:]
	quarter := len(after) / 4
	minute := min(int(time.Minute/sampleEvery), quarter)
	judged := after[len(after)-1].At-m.Warmup >= judgedFrom
	var all []Growth
	for _, series := range allSeries {
		all = append(all, Growth{
			Series: series, Judged: judged,
			First: median(after[:quarter], series.Of), Last: median(after[len(after)-quarter:], series.Of),
			AtWarmup: median(after[:minute], series.Of), AtEnd: median(after[len(after)-minute:], series.Of),
		})
	}
	return all
}

// CPU is how much of one core was used after the warm-up.
func (m Memory) CPU() float64 {
	from := slices.IndexFunc(m.Samples, func(s Sample) bool { return s.At >= m.Warmup })
	if from < 0 || from == len(m.Samples)-1 {
		return 0
	}
	first, last := m.Samples[from], m.Samples[len(m.Samples)-1]
	return float64(last.CPU-first.CPU) / float64(last.At-first.At)
}

func median(samples []Sample, of func(Sample) int64) int64 {
	values := make([]int64, 0, len(samples))
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// amount is a figure for people.
func (s Series) amount(v int64) string {
	if s.Unit == "bytes" {
		return fmt.Sprintf("%.1f MiB", float64(v)/(1<<20))
	}
	return strconv.FormatInt(v, 10)
}
