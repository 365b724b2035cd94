package engine

import (
	"errors"
	"slices"
	"testing"
)

// TestAddIndexes: several indexes are added in one pass over the objects, so that what
// one function has had decoded is there for the next; or none of them, if a name is
// taken.
func TestAddIndexes(t *testing.T) {
	f := newSharing(t)
	defer f.resident.releaseAll()
	f.put("a", "1", 10)
	f.put("b", "1", 10)
	var calls []string
	index := func(name string) Indexer {
		return Indexer{name, func(r *Record) ([]string, error) {
			calls = append(calls, name+" of "+r.Key())
			return []string{name}, nil
		}}
	}
	if err := f.AddIndexes(index("one"), index("two")); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 4 || calls[0][len("one"):] != calls[1][len("two"):] || calls[2][len("one"):] != calls[3][len("two"):] {
		t.Errorf("called %q", calls)
	}
	for _, name := range []string{"one", "two"} {
		if got := len(slices.Collect(f.ByIndex(name, name))); got != 2 {
			t.Errorf("index %s has %d objects", name, got)
		}
	}
	for _, more := range [][]Indexer{{index("three"), index("one")}, {index("three"), index("three")}} {
		if err := f.AddIndexes(more...); !errors.Is(err, ErrIndexExists) || len(f.Indexers()) != 2 {
			t.Errorf("%v, with indexes %q", err, f.Indexers())
		}
	}
}
