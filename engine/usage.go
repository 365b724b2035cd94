package engine

import "sync/atomic"

// usage is what residency knows of a record, in one word: three marks, and when
// the record was last gone over.
type usage struct{ word atomic.Uint32 }

const (
	// kept: the decodings are kept for readers.
	kept uint32 = 1 << iota
	// used: they were read since residency last looked.
	used
	// superseded: the state has left the store.
	superseded

	sweptShift = 3
)

func (u *usage) has(mark uint32) bool { return u.word.Load()&mark != 0 }

// set sets a mark and tells whether it was set before.
func (u *usage) set(mark uint32) bool {
	if u.has(mark) {
		return true // most often so: spare the write that others would wait for
	}
	return u.word.Or(mark)&mark != 0
}

// clear clears a mark and tells whether it was set before.
func (u *usage) clear(mark uint32) bool { return u.word.And(^mark)&mark != 0 }

// sweep notes when the record was gone over and returns when that was before.
func (u *usage) sweep(now uint32) uint32 {
	for {
		old := u.word.Load()
		if u.word.CompareAndSwap(old, old&(1<<sweptShift-1)|now<<sweptShift) {
			return old >> sweptShift
		}
	}
}
