package cli

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
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
