// Package memlimit finds out how much memory the process may use.
//
// What may live here: reading limits, having the runtime count what is outside of its
// heap, and give back what was let go of. What may not: deciding what to hold.
package memlimit

import (
	"math"
	"os"
	"path"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limit returns the limit that was set for the process: GOMEMLIMIT or
// debug.SetMemoryLimit, or that of its control group (versions 1 and 2), whichever
// is lowest. 0: there is none.
func Limit() int64 {
	if l := known().limit; l != math.MaxInt64 {
		return l
	}
	return 0
}

// Available returns the limit or, if there is none, the memory of the machine.
func Available() int64 {
	m := known()
	return min(m.limit, m.machine)
}

// Live returns what lives on the heap, as of the last collection, or some seconds ago,
// if what is available is a limit that the Go runtime keeps to (GOMEMLIMIT). Other
// limits are not its concern: the heap may grow to twice what lives in it.
func Live() (bytes int64, ok bool) {
	m := known()
	return m.live, m.program == min(m.limit, m.machine)
}

// limits is what was found out.
type limits struct {
	limit   int64 // the lowest; math.MaxInt64: none
	program int64 // the runtime's
	machine int64
	live    int64
	read    time.Time
}

// fresh is for how long limits are reused: a program may set another limit.
const fresh = 5 * time.Second

var (
	cached  atomic.Pointer[limits]
	reading sync.Mutex
)

// known returns the limits as of a few seconds ago. It is asked for each event, so that
// nobody waits while somebody else reads them again.
func known() *limits {
	l := cached.Load()
	switch {
	case l == nil:
		reading.Lock()
	case time.Since(l.read) <= fresh || !reading.TryLock():
		return l
	}
	defer reading.Unlock()
	now := read("/")
	cached.Store(&now)
	return &now
}

// assumedMachine is the assumed memory of a machine whose size is not known.
const assumedMachine = 8 << 30

// read reads the limits, from files below a root.
func read(root string) limits {
	l := limits{program: ofProgram(), machine: assumedMachine, read: time.Now()}
	l.limit = min(l.program, ofGroups(root))
	if l.program != math.MaxInt64 {
		l.live = liveHeap()
	}
	if kb, ok := number(root+"proc/meminfo", "MemTotal:"); ok {
		l.machine = kb << 10
	}
	return l
}

// liveHeap returns what the last collection of garbage found to be alive.
func liveHeap() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(s); s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(s[0].Value.Uint64())
}

// unlimited is what control groups of version 1 say when there is no limit: the
// largest number of pages.
const unlimited = math.MaxInt64 - 1<<20

// ofGroups returns the lowest limit of the control groups that the process is in.
func ofGroups(root string) int64 {
	least := int64(math.MaxInt64)
	look := func(mount, group string, files ...string) {
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			for _, f := range files {
				if n, ok := number(root+path.Join(mount, group, f), ""); ok && n > 0 && n < unlimited {
					least = min(least, n)
				}
			}
			if group == "/" {
				return
			}
		}
	}
	text, err := os.ReadFile(root + "proc/self/cgroup")
	if err != nil {
		text = []byte("0::/\n0:memory:/")
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			look("sys/fs/cgroup", parts[2], "memory.max", "memory.high")
		case strings.Contains(","+parts[1]+",", ",memory,"):
			look("sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes")
		}
	}
	return least
}

// number reads the number that follows a word in a file.
func number(file, word string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	_, rest, found := strings.Cut(string(text), word)
	words := strings.Fields(rest)
	if !found || len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	return n, err == nil
}
