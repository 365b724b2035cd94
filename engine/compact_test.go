package engine

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kinform/kinform/wire"
)

// TestUpdatesDoNotFillMemoryWithHoles updates few objects many times, with one
// that never changes in each slab, and wants the slabs to stay in proportion.
func TestUpdatesDoNotFillMemoryWithHoles(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	in := ingester{collection: c}
	version := 0
	put := func(name string) []byte {
		version++
		raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":"%d"},"data":%q}`,
			name, version, strings.Repeat(fmt.Sprintf("%x", version*2654435761), 40))
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		c.Apply([]Change{{Record: r}})
		in.compact()
		return raw
	}
	want := map[string][]byte{}
	for i := range 300_000 {
		name := fmt.Sprint("hot", i%50)
		if i%1000 == 0 {
			name = fmt.Sprint("cold", i)
		}
		want[name] = put(name)
	}
	runtime.GC()
	_, held := in.packer.arena.held()
	_, live := c.Weight()
	t.Logf("%d objects, %d bytes live, slabs of %d", c.Len(), live, held)
	if held > 3*compactFloor {
		t.Errorf("slabs weigh %d bytes, %d live in them", held, live)
	}
	for name, raw := range want {
		if got := c.Get(name).AppendBytes(nil); !bytes.Equal(got, raw) {
			t.Fatalf("%s came back different", name)
		}
	}
}
