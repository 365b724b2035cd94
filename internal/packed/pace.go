package packed

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"

	"github.com/kinform/kinform/internal/memlimit"
)

// pacer has the garbage collector run when slabs have grown by much. Slabs that
// nothing refers to are unmapped by the collector, but it runs only when the heap
// grows, and slabs are not in the heap: without help, a program that allocates
// little would fill its memory with dead slabs.
type pacer struct {
	after   atomic.Int64 // the least that was mapped since the last collection that we asked for
	running atomic.Bool
	// collect is runtime.GC, except in tests.
	collect func()
}

var pace = pacer{collect: runtime.GC}

const (
	// leastGrowth is how much slabs may grow, whatever they weigh.
	leastGrowth = 8 << 20
	// leastNearLimit is the same when memory is short.
	leastNearLimit = 1 << 20
)

// grown looks whether slabs have grown so much that a collection is due, and has it
// run in the background.
func (p *pacer) grown() {
	mapped := process.mapped.Load()
	after := p.after.Load()
	for mapped < after && !p.after.CompareAndSwap(after, mapped) {
		after = p.after.Load()
	}
	growth := mapped - p.after.Load()
	if growth < leastNearLimit || growth < p.allowance(mapped) || !p.running.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer p.running.Store(false)
		p.collect()
		p.after.Store(process.mapped.Load())
	}()
}

// allowance is how much slabs may grow until the next collection: by half, as they
// are only a part of the memory; by less when the process comes near its limit.
func (p *pacer) allowance(mapped int64) int64 {
	allowed := max(leastGrowth, p.after.Load()/2)
	if limit := memlimit.Limit(); limit > 0 {
		allowed = min(allowed, max(leastNearLimit, (limit-mapped-heapSize())/2))
	}
	return allowed
}

// heapSize is what the Go runtime has of the machine's memory, the heap and all
// else.
func heapSize() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
