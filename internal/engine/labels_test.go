package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/wire"
)

// TestLabelsAgainstMap packs random sets, one after the other as an object's states
// come, and compares each with the map that it was made of.
func TestLabelsAgainstMap(t *testing.T) {
	for name, known := range map[string]map[string]knownLabels{"shared": {}, "not shared": nil} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(11, 12))
			p := labelPacker{known: known}
			var before *Record
			for range 3 * mostLabelSets {
				want := map[string]string{}
				var sent []wire.Label
				for range rnd.IntN(4) {
					k, v := fmt.Sprint("k", rnd.IntN(5)), fmt.Sprint(rnd.IntN([]int{3, 1000}[rnd.IntN(2)]))
					want[k] = v // the last of equal keys wins
					sent = append(sent, wire.Label{Key: []byte(k), Value: []byte(v)})
				}
				r := &Record{labels: p.set(sent, before)}
				if got := maps.Collect(r.Labels().All()); !maps.Equal(got, want) || !maps.Equal(r.Labels().Map(), want) {
					t.Fatalf("%v became %v", want, got)
				}
				for k := range 5 {
					key := fmt.Sprint("k", k)
					if v, ok := want[key]; r.Labels().Get(key) != v || r.Labels().Has(key) != ok {
						t.Fatalf("%s of %v is %q", key, want, r.Labels().Get(key))
					}
				}
				if !labels.SelectorFromSet(want).Matches(r.Labels()) {
					t.Fatalf("a selector of %v does not match them", want)
				}
				before = r
			}
			sets := 0
			for _, k := range p.known {
				sets += len(k.sets)
			}
			if sets > mostLabelSets || known != nil && sets != p.sets {
				t.Errorf("%d sets are known, %d are counted, want at most %d", sets, p.sets, mostLabelSets)
			}
		})
	}
	if all := maps.Collect(Labels{}.All()); len(all) > 0 {
		t.Errorf("the zero value has labels: %v", all)
	}
}

// TestEqualLabelsAreShared: a set is kept once, and the keys of sets that differ in
// values only are.
func TestEqualLabelsAreShared(t *testing.T) {
	p := labelPacker{known: map[string]knownLabels{}}
	set := func(value string) *labelSet {
		return p.set([]wire.Label{{Key: []byte("app"), Value: []byte(value)}}, nil)
	}
	a, again, b := set("a"), set("a"), set("b")
	if a != again {
		t.Error("equal sets are kept twice")
	}
	if a == b || a.keys != b.keys {
		t.Error("the keys of two sets are kept twice")
	}
	for i := range mostLabelSets {
		set(fmt.Sprint("other-", i))
	}
	if set("a") == a {
		t.Errorf("a set is known for more than %d others", mostLabelSets)
	}
}
