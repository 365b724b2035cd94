package pages

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever is written after a snapshot or a clone does not show in it.
func TestSnapshotsStayAsTheyWere(t *testing.T) {
	type frozen struct {
		of   Snapshot[int]
		want map[Slot]int
	}
	r := rand.New(rand.NewPCG(1, 1))
	p, model := &Pages[int]{}, map[Slot]int{}
	var taken []frozen
	for i := range 20_000 {
		switch n := r.IntN(100); {
		case n < 50 || len(model) == 0:
			s := p.Add(i + 1)
			if _, ok := model[s]; ok {
				t.Fatalf("slot %d was given twice", s)
			}
			model[s] = i + 1
		case n < 75:
			s := anyOf(r, model)
			p.Set(s, i+1)
			model[s] = i + 1
		case n < 98:
			s := anyOf(r, model)
			p.Remove(s)
			delete(model, s)
		case n < 99:
			taken = append(taken, frozen{p.Snapshot(), maps.Clone(model)})
		default:
			old, of := p, p.Snapshot()
			p = p.Clone()
			taken = append(taken, frozen{of, maps.Clone(model)})
			_ = old
		}
		if p.Len() != len(model) {
			t.Fatalf("%d values, want %d", p.Len(), len(model))
		}
	}
	taken = append(taken, frozen{p.Snapshot(), model})
	for i, f := range taken {
		got, want := slices.Sorted(f.of.All()), slices.Sorted(maps.Values(f.want))
		if !slices.Equal(got, want) {
			t.Fatalf("snapshot %d of %d has %d values, want %d", i, len(taken), len(got), len(want))
		}
		for s, v := range f.want {
			if f.of.At(s) != v {
				t.Fatalf("snapshot %d: slot %d has %d, want %d", i, s, f.of.At(s), v)
			}
		}
	}
}

func anyOf(r *rand.Rand, m map[Slot]int) Slot {
	skip := r.IntN(min(len(m), 50))
	for s := range m {
		if skip--; skip < 0 {
			return s
		}
	}
	panic("empty")
}
