package memlimit

import (
	"math"
	"runtime/debug"
	"sync"
)

// The Go runtime keeps its own memory below GOMEMLIMIT. What is mapped outside of it
// would come on top, so the runtime is given that much less.

var reserved struct {
	sync.Mutex
	program int64 // the limit that the program set
	given   int64 // the limit that we gave the runtime instead; 0: none
}

// smallestShare is the part of its limit that the runtime keeps, whatever is reserved:
// a limit that cannot be kept would have it collect garbage all the time.
const smallestShare = 2

// step is how much of the limit what is reserved may change before the runtime is told of
// it.
const step = 64

// Reserve says how many bytes are in use outside the Go heap. If the program has a memory
// limit (GOMEMLIMIT or debug.SetMemoryLimit), the runtime's is lowered by as much. If the
// program sets another limit later, that one counts.
func Reserve(bytes int64) {
	reserved.Lock()
	defer reserved.Unlock()
	now := programLocked()
	limit := reserved.program
	if limit == math.MaxInt64 {
		return
	}
	want := limit - min(bytes, limit-limit/smallestShare)
	if diff := want - now; diff < limit/step && -diff < limit/step && bytes > 0 {
		return
	}
	debug.SetMemoryLimit(want)
	reserved.given = want
}

// ofProgram returns the limit that the program set; math.MaxInt64: none.
func ofProgram() int64 {
	reserved.Lock()
	defer reserved.Unlock()
	programLocked()
	return reserved.program
}

// programLocked notes the program's limit, and returns the one that is in force.
func programLocked() (now int64) {
	now = debug.SetMemoryLimit(-1)
	if now != reserved.given {
		reserved.program = now // it was set by the program, not by Reserve
	}
	return now
}
