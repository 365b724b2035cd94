package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// TestListsBeyondTheBudget: who lists more objects than there is room for, again and
// again, finds as many decoded as there is room for.
func TestListsBeyondTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weight := newResidents(t, Automatic, 1).Get("ns/t00000").decodedWeight()
		for _, room := range []int{900, 700, 300, 10} {
			s := newResidents(t, Residency(int64(room)*weight), 1000)
			for i := range 8 {
				before := s.decoded
				s.Objects(s.view)
				if n := s.decoded - before; i > 0 && n > 1050-room {
					t.Errorf("list %d decoded %d of 1000, though there is room for %d", i, n, room)
				}
			}
		}
	})
}

// TestLargerThanTheBudget: an object that can never be kept pushes nothing out.
func TestLargerThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, 1<<20, 400)
		in := ingester{collection: s.Collection}
		raw := fmt.Sprintf(`{"metadata":{"namespace":"ns","name":"large"},"data":%q}`, strings.Repeat("x", 1<<20))
		large, err := in.record(Item{Format: wire.JSON, Bytes: []byte(raw)}, false)
		if err != nil {
			t.Fatal(err)
		}
		s.Apply([]Change{{Record: large}})
		s.Objects(s.view)
		before := s.memory().Kept
		for range 1000 {
			if _, err := s.Object("ns/large", s.view); err != nil {
				t.Fatal(err)
			}
		}
		if after := s.memory().Kept; before == 0 || after != before {
			t.Errorf("%d are kept, and %d after reads of an object that is larger than the budget", before, after)
		}
	})
}

// TestBudgetThatShrinks: when the rest of the program needs more, what is kept becomes
// less, though it is all read and nothing else is.
func TestBudgetThatShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(f func() int64) { readShare = f }(readShare)
		share := int64(1 << 30)
		readShare = func() int64 { return share }
		s := newResidents(t, Automatic, 1000)
		s.want(t, "first time", Read, 1000)
		share = 100 << 10
		for range 3 {
			time.Sleep(idle / 2)
			s.Objects(s.view)
		}
		synctest.Wait()
		if kept := s.memory().Kept; kept > share {
			t.Errorf("%d are kept, of %d", kept, share)
		}
	})
}

// TestRestOfHeap: what is kept after the size of the heap was last found out does not
// count as memory that others have left.
func TestRestOfHeap(t *testing.T) {
	before := decodedLedger.kept.Load()
	defer decodedLedger.kept.Store(before)
	var h rest
	for _, c := range []struct{ live, kept, want int64 }{
		{100, 10, 90}, {100, 60, 90}, {100, 200, 90}, {170, 80, 90}, {50, 80, 0},
	} {
		decodedLedger.kept.Store(c.kept)
		if got := h.of(c.live); got != c.want {
			t.Errorf("%d of %d live bytes are kept: the rest is %d, want %d", c.kept, c.live, got, c.want)
		}
	}
}
