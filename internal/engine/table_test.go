package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/pages"
)

func testRecord(p *packed.Packer, key, value string) *Record {
	r := &Record{key: key, nsLen: uint16(len("ns"))}
	p.Pack(&r.bytes, packed.Likeness{}, []byte(value))
	return r
}

// TestTableAgainstMap makes random changes to a table and to a map, takes
// snapshots and clones on the way, and compares all of them at the end: none may
// see what happened after it was taken.
func TestTableAgainstMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	tab, want := newTable(1), map[string]string{}
	type moment struct {
		snap pages.Snapshot[*Record]
		want map[string]string
	}
	var moments []moment
	var p packed.Packer
	for i := range 20_000 {
		key := fmt.Sprintf("ns/%d", rnd.IntN(2000))
		switch n := rnd.IntN(100); {
		case n < 60:
			value := fmt.Sprint("v", rnd.IntN(7))
			values := []string{value, "w" + value[:rnd.IntN(2)]}
			tab.put(testRecord(&p, key, value), [][]string{values[:1+rnd.IntN(2)]})
			want[key] = value
		case n < 95:
			tab.remove(key)
			delete(want, key)
		case n < 97:
			tab = tab.clone()
		case i%7 == 0:
			moments = append(moments, moment{tab.snapshot(), maps.Clone(want)})
		}
	}
	moments = append(moments, moment{tab.snapshot(), want})
	for i, m := range moments {
		got := map[string]string{}
		for r := range m.snap.All() {
			got[r.key] = string(r.AppendBytes(nil))
		}
		if !maps.Equal(got, m.want) {
			t.Fatalf("snapshot %d of %d differs: %d records, want %d", i, len(moments), len(got), len(m.want))
		}
	}
	checkIndexes(t, tab, want)
}

func checkIndexes(t *testing.T, tab *table, want map[string]string) {
	t.Helper()
	found := 0
	for _, value := range tab.indexes[0].Values() {
		for r := range tab.find(tab.indexes[0], value) {
			if value[0] == 'w' {
				continue // a second value, which some have
			}
			if found++; want[r.key] != value {
				t.Fatalf("index has %s under %s, want %s", r.key, value, want[r.key])
			}
		}
	}
	spaced := 0
	for range tab.find(tab.spaces, "ns") {
		spaced++
	}
	if found != len(want) || spaced != len(want) || tab.len() != len(want) {
		t.Fatalf("index has %d, namespace %d, table %d, want %d", found, spaced, tab.len(), len(want))
	}
	var bytes int64
	for _, v := range want {
		bytes += int64(len(v))
	}
	if tab.bytes != bytes {
		t.Fatalf("table weighs %d, want %d", tab.bytes, bytes)
	}
}

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		text   string
		number uint64
	}{
		{"", 0}, {"0", 0}, {"1", 1}, {"42", 42}, {"18446744073709551615", 1<<64 - 1},
		{"18446744073709551616", 0}, {"99999999999999999999", 0}, {"007", 0}, {"-1", 0}, {"1a", 0}, {"１", 0},
	} {
		v := ParseVersion(c.text)
		if v.number != c.number {
			t.Errorf("%q is number %d, want %d", c.text, v.number, c.number)
		}
		if v.String() != c.text {
			t.Errorf("%q is written %q", c.text, v.String())
		}
	}
	if !ParseVersion("9").Before(ParseVersion("10")) || ParseVersion("10").Before(ParseVersion("9")) {
		t.Error("versions are not compared as numbers")
	}
	if ParseVersion("a").Before(ParseVersion("b")) || ParseVersion("1").Before(ParseVersion("b")) {
		t.Error("versions that are no numbers are compared")
	}
}
