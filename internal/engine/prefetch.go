package engine

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// A handler that reads every object spends its time waiting for them to be decoded.
// So while it is busy with the first ones of a stretch, others are decoded ahead of
// it, from the end of the stretch towards it, on cores that have nothing else to do.
// Where there are several subscribers, they do that for each other.

const (
	// stretch is how far ahead: what is decoded must still be cached when the handler
	// gets there (see passing).
	stretch = 64
	// lead is how many objects at the beginning of a stretch are left to the
	// handler: they show whether it reads them at all.
	lead = 4
	// prefetchWeight is what they may weigh, so that they are still cached when the
	// handler gets there.
	prefetchWeight = smallestRings / 2
	// mostHelpers bounds how many goroutines decode for one subscriber.
	mostHelpers = 3
)

// prefetcher decodes ahead of one subscriber. Only its goroutine calls it.
type prefetcher struct {
	view    *View         // nil: nothing is decoded ahead
	choosy  bool          // only what was added is
	at      *atomic.Int64 // where the handler is in the present stretch; nil if nobody helps
	helpers sync.WaitGroup
}

// reach notes that the handler has come to a delta of a batch.
func (a *prefetcher) reach(c *Collection, batch []Delta, i int) {
	if a.at != nil {
		a.at.Store(int64(i))
	}
	if a.view == nil || i%stretch != lead || len(batch)-i < stretch/2 {
		return
	}
	a.stop()
	if !a.reads(batch[i-lead:i]) || a.view.Alters || c.resident.several.Load() {
		return
	}
	end, weight := i, int64(0)
	for end < min(i+stretch-lead, len(batch)) && weight < prefetchWeight {
		if r := batch[end].New; r != nil {
			weight += r.decodedWeight()
		}
		end++
	}
	if end-i >= lead {
		a.help(c, batch[:end], i)
	}
}

// reads reports whether the handler has read the objects of some deltas, and had to
// have them decoded for that.
func (a *prefetcher) reads(deltas []Delta) bool {
	for _, d := range deltas {
		if d.New == nil || d.arrived != nil || d.New.decoded().find(a.view) == nil {
			return false
		}
	}
	return true
}

// help decodes what is between the handler and the end of a stretch.
func (a *prefetcher) help(c *Collection, batch []Delta, from int) {
	at, next := new(atomic.Int64), new(atomic.Int64)
	at.Store(int64(from))
	next.Store(int64(len(batch)))
	a.at = at
	for range min(runtime.GOMAXPROCS(0)-1, mostHelpers) {
		a.helpers.Go(func() {
			for i := next.Add(-1); i > at.Load(); i = next.Add(-1) {
				if r := batch[i].New; r != nil && (!a.choosy || batch[i].Kind == Added) {
					_, _ = c.Decode(r, a.view, Delivered) // the handler gets the error, too
				}
			}
		})
	}
}

// stop ends all helpers.
func (a *prefetcher) stop() {
	if a.at != nil {
		a.at.Store(math.MaxInt64)
		a.helpers.Wait()
		a.at = nil
	}
}
