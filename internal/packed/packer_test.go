package packed

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

func look(rnd *rand.Rand) string {
	b := make([]byte, 3000)
	for i := range b {
		b[i] = 'a' + byte(rnd.IntN(26))
	}
	return string(b)
}

// TestBaseIsLearnedAgain packs objects that look like others than the first ones:
// after a while they must pack as well as those did.
func TestBaseIsLearnedAgain(t *testing.T) {
	var p Packer
	pack := func(look string, i int) *Bytes {
		name := fmt.Sprintf("%.5s-%d", look, i)
		b := new(Bytes)
		p.Pack(b, Likeness{Name: []byte(name)}, []byte(name+look))
		return b
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	first, second := look(rnd), look(rnd)
	var b *Bytes
	for i := range 2 * shortestTrial {
		b = pack(first, i)
	}
	well, base := b.Held(), p.base.bytes
	for i := range 2 * shortestTrial {
		b = pack(second, i)
	}
	if p.base.bytes == base {
		t.Error("the base is still the first one")
	}
	if b.Held() > 2*well {
		t.Errorf("an object of the new look is packed to %d bytes, one of the first to %d", b.Held(), well)
	}
}

// TestNamesakesArePackedAgainstEachOther: objects that each namespace has, like root
// certificates, are not in the base, and need not be.
func TestNamesakesArePackedAgainstEachOther(t *testing.T) {
	var p Packer
	rnd := rand.New(rand.NewPCG(9, 10))
	noise := func() []byte { return fmt.Appendf(nil, "%x", rnd.Perm(400)) }
	var kept []*Bytes
	pack := func(i int, name string, data []byte) *Bytes {
		b := new(Bytes)
		p.Pack(b, Likeness{Name: []byte(name)}, fmt.Appendf(nil, "%d %s %s", i, name, data))
		kept = append(kept, b)
		return b
	}
	for i := range 50 { // of which the base is learned
		pack(i, "own", noise())
	}
	certificate := noise()
	pack(1, "root", certificate)
	pack(2, "root", certificate)
	pack(3, "own", noise())
	if b := pack(4, "root", certificate); b.Held()*goodGain > b.Len() {
		t.Errorf("the third certificate is packed to %d of %d bytes", b.Held(), b.Len())
	}
	runtime.KeepAlive(kept)
}

// TestRandomBytesAreHeldAsTheyAre: packing gains nothing, and would cost each reader.
func TestRandomBytesAreHeldAsTheyAre(t *testing.T) {
	var p Packer
	rnd := rand.New(rand.NewPCG(11, 12))
	for i := range 50 {
		raw := make([]byte, 20_000)
		for j := range raw {
			raw[j] = byte(rnd.Uint32())
		}
		b := new(Bytes)
		p.Pack(b, Likeness{Name: []byte("random")}, raw)
		if got := b.Plain(); !bytes.Equal(got, raw) {
			t.Fatalf("object %d is packed to %d bytes", i, b.Held())
		}
	}
}

// TestDictionariesOfLargeParentsAreSmall: only the last 64 KB of a parent are used, and
// no more may be kept.
func TestDictionariesOfLargeParentsAreSmall(t *testing.T) {
	b := new(Bytes)
	b.Hold(bytes.Repeat([]byte("some bytes "), 1<<18))
	before := heap()
	d := dictionaryOf(b)
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the dictionary of %d bytes weighs %d", b.Len(), grown)
	}
	runtime.KeepAlive(d)
	runtime.KeepAlive(b)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCollectorRunsWhenSlabsGrow: slabs that nothing refers to are unmapped, although
// the heap does not grow and nobody else has the collector run.
func TestCollectorRunsWhenSlabsGrow(t *testing.T) {
	var p Packer
	raw := make([]byte, 300<<10)
	rnd := rand.New(rand.NewPCG(13, 14))
	for i := range raw {
		raw[i] = byte(rnd.Uint32())
	}
	before := InUse().Mapped
	var most int64
	for range 1000 { // 300 MB in all, of which nothing is kept
		p.Pack(new(Bytes), Likeness{Name: []byte("name")}, raw)
		for pace.running.Load() { // wait for a collection that has begun
			runtime.Gosched()
		}
		most = max(most, InUse().Mapped-before)
	}
	t.Logf("%d MiB packed, at most %d MiB mapped", 1000*len(raw)>>20, most>>20)
	if most > 12*leastGrowth {
		t.Errorf("%d bytes were mapped, with nothing alive", most)
	}
}

// TestLookingForHolesKeepsNothing: slabs that nothing refers to go although holes are
// looked for all the time that the collector runs.
func TestLookingForHolesKeepsNothing(t *testing.T) {
	defer func(f func()) { pace.collect = f }(pace.collect)
	pace.collect = func() {}
	ballast := make([]*[64]byte, 1<<20) // so that the collector is busy for a while
	for i := range ballast {
		ballast[i] = new([64]byte)
	}
	var p Packer
	rnd := rand.New(rand.NewPCG(15, 16))
	raw := make([]byte, 20<<10)
	for i := range 1000 {
		for j := range raw {
			raw[j] = byte(rnd.Uint32())
		}
		// Each leads siblings that never come.
		p.Pack(new(Bytes), Likeness{Name: []byte("name"), Owner: fmt.Append(nil, i)}, raw)
	}
	full := p.Memory().Mapped
	for range 5 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.GC()
		}()
		for collecting := true; collecting; {
			p.Again()
			p.Sparse()
			select {
			case <-done:
				collecting = false
			default:
			}
		}
	}
	runtime.KeepAlive(ballast)
	left := p.Memory().Mapped
	t.Logf("of %d mapped bytes with nothing alive, %d are left", full, left)
	if left > 4<<20 {
		t.Errorf("%d bytes are mapped, with nothing alive", left)
	}
}
