package engine

import (
	"math/rand/v2"
	"testing"
)

// TestKeyTableAgainstMap adds and removes slots at random, under few hashes so that
// the runs are long and go around the end, and compares with a map on the way.
func TestKeyTableAgainstMap(t *testing.T) {
	for name, hashes := range map[string]uint32{"few hashes": 37, "many hashes": 1 << 31} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, 6))
			var keys keyTable
			want := map[slot]uint32{} // the hash of each slot
			for i := range 30_000 {
				s := slot(rnd.IntN(600))
				hash, there := want[s]
				// It grows and shrinks by turns, down to nothing.
				if grow := (i/3000)%2 == 0; rnd.IntN(10) < 7 == grow {
					if !there {
						want[s] = rnd.Uint32N(hashes) * ((1<<32 - 1) / hashes)
						keys.add(want[s], s)
					}
				} else if there {
					keys.remove(hash, s)
					delete(want, s)
				}
				if i%50 == 0 {
					keys = keys.fit(rnd.IntN(20))
				}
				if i%1000 == 999 {
					compareKeys(t, keys.clone(), want)
				}
			}
			compareKeys(t, keys, want)
			for s, hash := range want {
				keys.remove(hash, s)
			}
			keys = keys.fit(0)
			if keys.used != 0 || len(keys.cells) > 64 {
				t.Errorf("an empty table has %d keys and %d cells", keys.used, len(keys.cells))
			}
		})
	}
}

func compareKeys(t *testing.T, keys keyTable, want map[slot]uint32) {
	t.Helper()
	if keys.used != len(want) {
		t.Fatalf("table has %d keys, want %d", keys.used, len(want))
	}
	for s := range slot(600) {
		hash, there := want[s]
		_, found := keys.find(hash, func(x slot) bool { return x == s })
		if found != there {
			t.Fatalf("slot %d is found: %v, want %v", s, found, there)
		}
	}
}
