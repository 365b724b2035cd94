package engine

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/kinform/kinform/wire"
)

// TestOrphansAreAdopted: what a reflector that has ended leaves in the store is packed
// again by another one, in the same states, and what is young there is looked after.
func TestOrphansAreAdopted(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	ended, other := &ingester{collection: c}, &ingester{collection: c}
	want := map[string][]byte{}
	for i := range 1000 {
		name := fmt.Sprint("o", i)
		raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":"%d"},"data":"%0500d"}`, name, i+1, i*i*i)
		r, err := ended.record(Item{Format: wire.JSON, Bytes: raw}, i%10 == 0)
		if err != nil {
			t.Fatal(err)
		}
		c.Apply([]Change{{Record: r}})
		want[name] = raw
	}
	c.orphans.add([]*ingester{ended})
	if n := len(c.orphans.memory()); n != 1 {
		t.Fatalf("%d orphans, want 1", n)
	}
	other.compact()
	if n := len(c.orphans.memory()); n != 0 || other.foreign != nil {
		t.Errorf("%d orphans are left", n)
	}
	if live := ended.packer.Memory().Live; live != 0 {
		t.Errorf("%d bytes are left with the one that has ended", live)
	}
	if n := len(other.young.waiting); n != 100 || len(ended.young.waiting) != 0 {
		t.Errorf("%d young objects are looked after, want 100", n)
	}
	for name, raw := range want {
		if got := c.Get(name).AppendBytes(nil); !bytes.Equal(got, raw) {
			t.Fatalf("%s came back different", name)
		}
	}
}
