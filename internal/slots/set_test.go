package slots

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSlotSetAgainstMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var set Set
	want := map[Slot]bool{}
	for range 200_000 {
		x := Slot(rnd.IntN(10_000))
		if rnd.IntN(5) < 3 {
			set.add(x)
			want[x] = true
		} else {
			set.remove(x)
			delete(want, x)
		}
	}
	got := slices.Collect(set.All())
	if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("set has %d slots, want %d, or another order", len(got), len(want))
	}
	if set.n != len(want) {
		t.Fatalf("set counts %d, want %d", set.n, len(want))
	}
	for _, c := range set.chunks {
		if len(c) == 0 || len(c) > chunkSize {
			t.Fatalf("a chunk has %d slots", len(c))
		}
	}
}
