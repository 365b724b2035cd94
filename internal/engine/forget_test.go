package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// A view that was forgotten leaves nothing behind of objects that are deleted later.
func TestForgetViewLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, 1000)
		s.want(t, "read", Read, 1000)
		s.ForgetView(s.view)
		<-time.After(4 * idle)
		var gone []Change
		for r := range s.All() {
			gone = append(gone, Change{Record: r, Gone: true})
		}
		s.Apply(gone)
		<-time.After(4 * idle)
		s.resident.mu.Lock()
		defer s.resident.mu.Unlock()
		if n := len(s.resident.last); n != 0 {
			t.Errorf("%d records are held as the last decoded state, of a store that has %d objects and nothing decoded", n, s.table.len())
		}
	})
}

// wantKeptOnce sees that each of 1000 objects is kept once, and stays decoded while it is
// read.
func (s *residents) wantKeptOnce(t *testing.T) {
	t.Helper()
	if n := s.resident.keeper.len(); n > 1500 {
		t.Errorf("the keeper has %d entries for 1000 objects", n)
	}
	for range 10 {
		<-time.After(idle / 3)
		s.want(t, "read every 10 s", Read, 0)
	}
}

// Objects that are forgotten and read again are kept once.
func TestForgetKeepsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, 1000)
		s.goOver(t, Read)
		for range 20 {
			for r := range s.All() {
				s.Forget(r)
			}
			s.goOver(t, Read)
			<-time.After(idle - time.Second)
			s.goOver(t, Read)
		}
		s.wantKeptOnce(t)
	})
}

// The same with ForgetView, as informers of a shared store come and go.
func TestForgetViewKeepsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, 1000)
		s.goOver(t, Read)
		for range 20 {
			s.ForgetView(s.view)
			s.goOver(t, Read)
		}
		s.wantKeptOnce(t)
	})
}

// Records that are moved by compaction are not let go of.
func TestMoveLetsNothingGo(t *testing.T) {
	s := newResidents(t, Automatic, 1000)
	s.goOver(t, Read)
	in := ingester{collection: s.Collection}
	var old, again []*Record
	for r := range s.All() {
		old, again = append(old, r), append(again, in.packAgain(r))
	}
	s.swap(old, again)
	s.want(t, "after the move", Read, 0)
	s.resident.mu.Lock()
	defer s.resident.mu.Unlock()
	if s.resident.letGo != 0 {
		t.Errorf("%d bytes are said to be let go of, and all objects are still decoded (%d)", s.resident.letGo, s.resident.keeper.weight.Load())
	}
}
