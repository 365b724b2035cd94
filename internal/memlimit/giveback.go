package memlimit

import (
	"runtime/debug"
	"sync"
	"time"
)

// What is let go of is garbage until the next collection, and its memory is the
// process's for longer. The collector runs when the heap has grown to twice what lived in
// it, much of which was let go of since: a program that does little would hold it for
// minutes.

const (
	// leastGivenBack is how much is let go of before that is worth a collection. It is
	// also at least a quarter of what lives on the heap, all of which is looked at then.
	leastGivenBack = 64 << 20
	// restBetween is the time from one to the next.
	restBetween = time.Minute
)

var letGo struct {
	sync.Mutex
	bytes int64
	last  time.Time
}

// giveBack is debug.FreeOSMemory, except in tests.
var giveBack = debug.FreeOSMemory

// LetGo says that so many bytes of the heap were let go of. When that has become much,
// they are collected and given back to the system, in the background.
func LetGo(bytes int64) {
	letGo.Lock()
	defer letGo.Unlock()
	letGo.bytes += bytes
	if letGo.bytes < leastGivenBack || time.Since(letGo.last) < restBetween || letGo.bytes < liveHeap()/4 {
		return
	}
	letGo.bytes, letGo.last = 0, time.Now()
	go giveBack()
}
