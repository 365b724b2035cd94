package engine

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
)

// memoryShare is a quarter of the memory that the process may use: of the limit
// that it was given, of its control group's, of the machine's.
var memoryShare = sync.OnceValue(func() int64 { return availableMemory() / 4 })

func availableMemory() int64 {
	least := int64(8 << 30)
	if kb, ok := number("/proc/meminfo", "MemTotal:"); ok {
		least = kb << 10
	}
	if b, ok := number("/sys/fs/cgroup/memory.max", ""); ok {
		least = min(least, b)
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		least = min(least, limit)
	}
	return least
}

// number reads the number that follows a word in a file.
func number(file, word string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	_, rest, found := bytes.Cut(text, []byte(word))
	words := bytes.Fields(rest)
	if !found || len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(words[0]), 10, 64)
	return n, err == nil
}
