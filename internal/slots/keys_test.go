package slots

import (
	"math/rand/v2"
	"testing"
)

// TestKeysAgainstMap adds and removes slots at random, under few hashes so that
// the runs are long and go around the end, and compares with a map on the way.
func TestKeysAgainstMap(t *testing.T) {
	for name, hashes := range map[string]uint32{"few hashes": 37, "many hashes": 1 << 31} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, 6))
			var keys Keys
			want := map[Slot]uint32{} // the hash of each slot
			for i := range 30_000 {
				s := Slot(rnd.IntN(600))
				hash, there := want[s]
				// It grows and shrinks by turns, down to nothing.
				if grow := (i/3000)%2 == 0; rnd.IntN(10) < 7 == grow {
					if !there {
						want[s] = rnd.Uint32N(hashes) * ((1<<32 - 1) / hashes)
						keys.Add(want[s], s)
					}
				} else if there {
					keys.Remove(hash, s)
					delete(want, s)
				}
				if i%50 == 0 {
					keys = keys.Fit(rnd.IntN(20))
				}
				if i%1000 == 999 {
					compareKeys(t, keys.Clone(), want)
				}
			}
			compareKeys(t, keys, want)
			for s, hash := range want {
				keys.Remove(hash, s)
			}
			keys = keys.Fit(0)
			if keys.used != 0 || len(keys.cells) > 64 {
				t.Errorf("an empty table has %d keys and %d cells", keys.used, len(keys.cells))
			}
		})
	}
}

func compareKeys(t *testing.T, keys Keys, want map[Slot]uint32) {
	t.Helper()
	if keys.used != len(want) {
		t.Fatalf("table has %d keys, want %d", keys.used, len(want))
	}
	for s := range Slot(600) {
		hash, there := want[s]
		_, found := keys.Find(hash, func(x Slot) bool { return x == s })
		if found != there {
			t.Fatalf("slot %d is found: %v, want %v", s, found, there)
		}
	}
}
