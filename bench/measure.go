package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// sink keeps the compiler from leaving out what handlers read.
var sink atomic.Int64

// cpu is the time that the process has computed so far, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail for the process itself
	}
	return seconds(u.Utime) + seconds(u.Stime)
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// heap is what lives on the heap.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func mallocs() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Mallocs)
}

// resident and peak are the process's memory in bytes, now and at most since
// resetPeak.
func resident() float64 { return mustStatus("VmRSS:") }
func peak() float64     { return mustStatus("VmHWM:") }

func mustStatus(word string) float64 {
	v, err := procStatus("self", word)
	if err != nil {
		panic(fmt.Errorf("the benchmarks need Linux: %w", err))
	}
	return v
}

// procStatus is a figure of a process's status, in bytes.
func procStatus(pid, word string) (float64, error) {
	file := "/proc/" + pid + "/status"
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte(word))
	number, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	kb, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return 0, fmt.Errorf("%s in %s: %w", word, file, err)
	}
	return kb * 1024, nil
}

// settle gives garbage back to the system, and returns what is resident then.
func settle() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	return resident()
}

// resetPeak lets peak begin again.
func resetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// waitQuiet returns when the process has nothing more to do: less than 10 ms of
// computing within 300 ms.
func waitQuiet() {
	const pause, window = 50 * time.Millisecond, 6
	past := []float64{cpu()}
	for {
		time.Sleep(pause)
		past = append(past, cpu())
		if n := len(past); n > window && past[n-1]-past[n-1-window] < 0.010 {
			return
		}
	}
}

// quantile returns the value below which the given part of the sorted values lies.
func quantile(sorted []time.Duration, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(part*float64(len(sorted))), len(sorted)-1)
	return sorted[i].Seconds()
}

// latencies is a metric of each of: mean, 99%, 99.9% and slowest.
func latencies(m metrics, name string, ds []time.Duration) {
	slices.Sort(ds)
	var sum time.Duration
	for _, d := range ds {
		sum += d
	}
	m[name+" mean"] = sum.Seconds() / float64(max(len(ds), 1))
	m[name+" 99%"] = quantile(ds, 0.99)
	m[name+" 99.9%"] = quantile(ds, 0.999)
	m[name+" slowest"] = quantile(ds, 1)
	m[name+" calls"] = float64(len(ds))
}
