package packed

import "sync/atomic"

// account counts what packers have outside the heap: one packer, or all of the
// process.
type account struct{ mapped, live atomic.Int64 }

// process counts the memory of all packers.
var process account

// Memory is what packed bytes weigh outside the heap.
type Memory struct {
	// Mapped is what slabs weigh, Live how much of that belongs to states in a store.
	// The difference is held by readers and queues, or waits for the garbage
	// collector.
	Mapped, Live int64
}

// InUse returns what all packers of the process have outside the heap.
func InUse() Memory { return process.memory() }

func (a *account) memory() Memory {
	return Memory{Mapped: a.mapped.Load(), Live: a.live.Load()}
}

// Youngs counts the young bytes of one store, and of the process.
type Youngs struct{ bytes atomic.Int64 }

var youngs atomic.Int64

// Young returns what the young states in all stores of the process weigh.
func Young() int64 { return youngs.Load() }

// Bytes returns what the young states in the store weigh.
func (y *Youngs) Bytes() int64 { return y.bytes.Load() }

func (y *Youngs) add(n int64) {
	y.bytes.Add(n)
	youngs.Add(n)
}

// Close subtracts the store from the sum of the process. It must not be used after
// that.
func (y *Youngs) Close() { y.add(-y.bytes.Load()) }
