package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWanted: an object is shared from the second time on that it is wanted in short
// order, or if it is decoded already; lists of everything keep nothing.
func TestWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSharing(t)
		defer f.resident.releaseAll()
		f.put("a", "1", 1000)
		r := f.Get("a")
		want := func(use Use, shared bool) {
			t.Helper()
			obj, err := f.Wanted(r, f.view, use)
			if err != nil || (obj != nil) != shared {
				t.Errorf("wanted for %v: %v, %v; shared: %t", use, obj, err, shared)
			}
		}
		want(ReadAll, false)
		want(ReadAll, false)
		want(Read, false)
		time.Sleep(recently*idle + idle)
		want(Read, false) // the first time is long ago
		want(ReadAll, false)
		want(Read, true)
		want(ReadAll, true)
		if !r.use.has(kept) {
			t.Error("an object that is read again and again is not kept")
		}
	})
}
