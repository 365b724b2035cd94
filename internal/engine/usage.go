package engine

import "sync/atomic"

// usage is what residency knows of a record, in one word: some marks, and when the
// record was last gone over or delivered.
type usage struct{ word atomic.Uint32 }

const (
	// kept: the decodings are kept for readers.
	kept uint32 = 1 << iota
	// used: they were read since residency last looked.
	used
	// superseded: the state has left the store.
	superseded
	// hot: the state before was delivered to a handler shortly before it was replaced.
	hot
	// ringed: it is on a ring.
	ringed
	// queued: it waits to be settled, under its own version.
	queued
	// enlisted: it is one of the keeper's records, kept or not any more.
	enlisted

	stampShift = 7
)

// marks returns all marks.
func (u *usage) marks() uint32 { return u.word.Load() & (1<<stampShift - 1) }

func (u *usage) has(mark uint32) bool { return u.word.Load()&mark != 0 }

// set sets a mark and reports whether it was set before.
func (u *usage) set(mark uint32) bool {
	if u.has(mark) {
		return true // most often so: spare the write that others would wait for
	}
	return u.word.Or(mark)&mark != 0
}

// clear clears a mark and reports whether it was set before.
func (u *usage) clear(mark uint32) bool { return u.word.And(^mark)&mark != 0 }

// stamp notes when the record was gone over or delivered, and returns when that was
// before.
func (u *usage) stamp(now uint32) uint32 {
	for {
		old := u.word.Load()
		if old>>stampShift == now || u.word.CompareAndSwap(old, old&(1<<stampShift-1)|now<<stampShift) {
			return old >> stampShift
		}
	}
}

// stamped returns what stamp noted last.
func (u *usage) stamped() uint32 { return u.word.Load() >> stampShift }
