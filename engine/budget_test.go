package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

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
