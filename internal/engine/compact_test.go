package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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
			name, version, strings.Repeat(fmt.Sprintf("%x", uint64(version)*2654435761), 40))
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
	held := in.packer.Memory().Mapped
	_, live := c.Weight()
	t.Logf("%d objects, %d bytes live, slabs of %d", c.Len(), live, held)
	if held > 12<<20 {
		t.Errorf("slabs weigh %d bytes, %d live in them", held, live)
	}
	for name, raw := range want {
		if got := c.Get(name).AppendBytes(nil); !bytes.Equal(got, raw) {
			t.Fatalf("%s came back different", name)
		}
	}
}

// TestParentsDoNotHoldOnToSlabs updates siblings again and again. What they are packed
// against is not in the store any more, and must not keep the slabs that it is in.
func TestParentsDoNotHoldOnToSlabs(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	in := ingester{collection: c}
	rnd := rand.New(rand.NewPCG(13, 14))
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = "0123456789abcdef"[rnd.IntN(16)]
	}
	some := func(n int) []byte { return noise[rnd.IntN(len(noise)-n):][:n] }
	const owners, children = 300, 60
	want := map[string][]byte{}
	version := 0
	for round := range 8 {
		for owner := range owners {
			look := noise[owner*100 : owner*100+3000] // what siblings have in common
			for child := range children {
				if round > 0 && rnd.IntN(2) == 0 {
					continue
				}
				version++
				name := fmt.Sprintf("o%d-%d", owner, child)
				raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":"%d","ownerReferences":[{"controller":true,"uid":"u%d"}]},"look":%q,"own":%q}`,
					name, version, owner, look, some(300))
				r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
				if err != nil {
					t.Fatal(err)
				}
				c.Apply([]Change{{Record: r}})
				in.compact()
				want[name] = raw
			}
		}
		runtime.GC()
	}
	for range 10 { // what is left to do, with nothing new
		in.packer.Again()
		in.compact()
		runtime.GC()
	}
	held := in.packer.Memory().Mapped
	_, live := c.Weight()
	t.Logf("%d objects, %d bytes live, slabs of %d", c.Len(), live, held)
	if held > live+8<<20 {
		t.Errorf("slabs weigh %d bytes, %d live in them", held, live)
	}
	for name, raw := range want {
		if got := c.Get(name).AppendBytes(nil); !bytes.Equal(got, raw) {
			t.Fatalf("%s came back different", name)
		}
	}
}

// Slabs of which most objects were deleted are emptied, although nothing new comes.
func TestDeletedObjectsLeaveNoHoles(t *testing.T) {
	f := newFeed(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	some := hexNoise(rnd)
	const objects = 10_000
	for i := range objects {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"%d","uid":"u","resourceVersion":"%d"},"data":%q}`, i, i+1, some(2000))
		r, err := f.in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		f.Apply([]Change{{Record: r}})
	}
	f.in.compact()
	f.version = objects
	full := f.in.packer.Memory()
	for _, i := range rnd.Perm(objects)[:objects*19/20] {
		f.remove(fmt.Sprint(i), "u")
		f.in.compact()
	}
	for range 20 {
		f.in.compact()
		runtime.GC()
	}
	m := f.in.packer.Memory()
	t.Logf("%d of %d mapped live; after 95 %% were deleted %d of %d", full.Live, full.Mapped, m.Live, m.Mapped)
	if m.Mapped > 2*m.Live+4<<20 {
		t.Errorf("%d bytes are mapped, %d live in them", m.Mapped, m.Live)
	}
}

// Holes are emptied although most objects are deleted while that is under way, so that
// the table is a smaller one when it goes on.
func TestCompactionGoesOnInASmallerTable(t *testing.T) {
	c, parts := NewCollection(Options{}, "")
	in := ingester{collection: c}
	rnd := rand.New(rand.NewPCG(3, 4))
	some := hexNoise(rnd)
	var list List
	const objects = 20_000
	for i := range objects {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"%d","resourceVersion":"%d"},"data":%q}`, i, i+1, some(2000))
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		list.Records = append(list.Records, r)
	}
	rnd.Shuffle(objects, func(i, j int) { list.Records[i], list.Records[j] = list.Records[j], list.Records[i] })
	var keys []string // in the order of their slots
	for _, r := range list.Records {
		keys = append(keys, r.key)
	}
	c.Replace(parts[0], list)
	list = List{}
	keep := func(keys []string) {
		var l List
		for _, key := range keys {
			l.Records = append(l.Records, c.Get(key))
		}
		c.Replace(parts[0], l)
	}
	in.compact()
	keep(keys[objects*3/5:])
	in.compact()
	if in.compactAt == 0 {
		t.Fatal("compaction is not under way")
	}
	keep(keys[objects-objects/50:])
	for range 20 {
		in.compact()
		runtime.GC()
	}
	m := in.packer.Memory()
	t.Logf("%d of %d mapped bytes are live", m.Live, m.Mapped)
	if m.Mapped > 2*m.Live+4<<20 {
		t.Errorf("%d bytes are mapped, %d live in them", m.Mapped, m.Live)
	}
}

// hexNoise returns what gives digits, from among so many that they hardly resemble any
// others.
func hexNoise(rnd *rand.Rand) func(n int) []byte {
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = "0123456789abcdef"[rnd.IntN(16)]
	}
	return func(n int) []byte { return noise[rnd.IntN(len(noise)-n):][:n] }
}
