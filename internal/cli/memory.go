package cli

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// memoryInUse is what the process takes from the machine, without garbage: on
// Linux its resident set, the program itself included; elsewhere what Go's
// runtime holds.
func memoryInUse() int64 {
	debug.FreeOSMemory()
	var total, resident int64
	if raw, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(raw), &total, &resident); err == nil {
			return resident * int64(os.Getpagesize())
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return int64(mem.Sys - mem.HeapReleased)
}

// peakMemory is the most that the process has taken; 0 where that is not known.
func peakMemory() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kB int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kB); n == 1 {
			return kB << 10
		}
	}
	return 0
}
