package workloads

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
)

// Sample is a process's memory at one moment, in bytes.
type Sample struct {
	RSS  int64 // resident
	Heap int64 // objects on the heap, dead ones that the collector has not found included
	// Mapped is resident memory that is neither a file's nor the Go runtime's.
	Mapped int64
}

// sampler reads the memory of its own process.
type sampler struct {
	runtime []metrics.Sample
}

const (
	heapObjects = iota
	runtimeTotal
	runtimeReleased
)

func newSampler() *sampler {
	return &sampler{runtime: []metrics.Sample{
		heapObjects:     {Name: "/memory/classes/heap/objects:bytes"},
		runtimeTotal:    {Name: "/memory/classes/total:bytes"},
		runtimeReleased: {Name: "/memory/classes/heap/released:bytes"},
	}}
}

// now reads the present memory. Bytes outside the heap are found by subtraction,
// so that nothing has to be known of who mapped them.
func (s *sampler) now() (Sample, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Sample{}, fmt.Errorf("the memory of the process can be read on Linux alone: %w", err)
	}
	metrics.Read(s.runtime)
	own := s.value(runtimeTotal) - s.value(runtimeReleased)
	return Sample{
		RSS:    statusBytes(text, "VmRSS:"),
		Heap:   s.value(heapObjects),
		Mapped: max(statusBytes(text, "RssAnon:")-own, 0),
	}, nil
}

func (s *sampler) value(i int) int64 { return int64(s.runtime[i].Value.Uint64()) }

// peakRSS is the most that was ever resident.
func peakRSS() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return statusBytes(text, "VmHWM:")
}

// statusBytes finds a line such as "VmRSS:  123 kB".
func statusBytes(text []byte, word string) int64 {
	_, rest, found := bytes.Cut(text, []byte(word))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(fields[0]), 10, 64) // 0 if the kernel says something else
	return n << 10
}

// cpuSeconds is what the process has computed, to a hundredth of a second.
func cpuSeconds() float64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name of the program, in parentheses, can have spaces in it.
	_, rest, _ := bytes.Cut(text, []byte(") "))
	fields := bytes.Fields(rest)
	const user, system, ticks = 11, 12, 100
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.ParseFloat(string(fields[user]), 64)
	s, _ := strconv.ParseFloat(string(fields[system]), 64)
	return (u + s) / ticks
}

// liveHeap collects garbage and returns what is left.
func liveHeap() int64 {
	collect()
	collect() // the cleanups of the first have freed more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// collect collects garbage, and returns when what was to be done for the objects
// that were found dead is done: memory outside the heap goes that way.
func collect() {
	runtime.GC()
	s := []metrics.Sample{
		{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/finalizers/queued:finalizers"},
		{Name: "/gc/cleanups/executed:cleanups"}, {Name: "/gc/finalizers/executed:finalizers"},
	}
	metrics.Read(s)
	cleanups, finalizers := s[0].Value.Uint64(), s[1].Value.Uint64()
	for s[2].Value.Uint64() < cleanups || s[3].Value.Uint64() < finalizers {
		runtime.Gosched()
		metrics.Read(s)
	}
}

// collections is what the garbage collector did since the process began.
type collections struct {
	count  uint64
	pauses *metrics.Float64Histogram
}

func readCollections() collections {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	return collections{count: s[0].Value.Uint64(), pauses: s[1].Value.Float64Histogram()}
}

// since returns the pauses after an earlier reading: together, and the longest,
// each as the upper end of its bucket.
func (c collections) since(before collections) (total, longest float64) {
	for i, n := range c.pauses.Counts {
		n -= before.pauses.Counts[i]
		if n == 0 {
			continue
		}
		end := c.pauses.Buckets[i+1]
		if math.IsInf(end, 1) {
			end = c.pauses.Buckets[i]
		}
		total += float64(n) * end
		longest = max(longest, end)
	}
	return total, longest
}
