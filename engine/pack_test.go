package engine

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/wire"
)

// encoded yields objects as a server would send them.
type marshaler interface{ Marshal() ([]byte, error) }

func encodedProtobuf[T marshaler](all iter.Seq[T]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for o := range all {
			raw, err := o.Marshal()
			if err != nil {
				panic(err)
			}
			if !yield(raw) {
				return
			}
		}
	}
}

func encodedJSON[T any](all iter.Seq[T]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for o := range all {
			raw, err := json.Marshal(o)
			if err != nil {
				panic(err)
			}
			if !yield(raw) {
				return
			}
		}
	}
}

// TestPackedBytesComeBack packs objects of many kinds and gets the same bytes
// back, in any order, also after the records that they were packed against have
// gone.
func TestPackedBytesComeBack(t *testing.T) {
	g := objects.New(objects.Options{Seed: 3})
	for name, c := range map[string]struct {
		format wire.Format
		raw    iter.Seq[[]byte]
	}{
		"pods":             {wire.Protobuf, encodedProtobuf(g.Pods(800))},
		"pods in JSON":     {wire.JSON, encodedJSON(g.Pods(300))},
		"config maps":      {wire.Protobuf, encodedProtobuf(g.ConfigMaps(500))},
		"nodes":            {wire.Protobuf, encodedProtobuf(g.Nodes(100))},
		"endpoint slices":  {wire.Protobuf, encodedProtobuf(g.EndpointSlices(500))},
		"custom resources": {wire.JSON, encodedJSON(g.CustomResources(500))},
	} {
		t.Run(name, func(t *testing.T) {
			c0, _ := NewCollection(Options{}, "")
			in := ingester{collection: c0}
			var raws [][]byte
			var records []*Record
			sent, held := 0, 0
			for raw := range c.raw {
				r, err := in.record(Item{Format: c.format, Bytes: raw}, false)
				if err != nil {
					t.Fatal(err)
				}
				raws, records = append(raws, raw), append(records, r)
				sent, held = sent+len(raw), held+r.Packed()
				if len(records)%197 == 0 {
					records[len(records)/2], raws[len(records)/2] = r, raw // its heads may go
					runtime.GC()
				}
			}
			for i := len(records) - 1; i >= 0; i-- {
				if got := records[i].AppendBytes(nil); !bytes.Equal(got, raws[i]) {
					t.Fatalf("object %d came back different", i)
				}
			}
			t.Logf("%d objects: %d B each, held in %d B", len(records), sent/len(records), held/len(records))
			if held*2 > sent {
				t.Errorf("packed to %d of %d bytes", held, sent)
			}
		})
	}
}

func TestSmallAndLargeObjectsPack(t *testing.T) {
	for _, size := range []int{0, 1, 50, 95, 96, 1000, 70_000, 3 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			c, _ := NewCollection(Options{}, "")
			in := ingester{collection: c}
			for i := range 20 {
				raw := fmt.Appendf(nil, `{"metadata":{"name":"n%d","resourceVersion":"%d"},"data":"%s"}`,
					i, i+1, bytes.Repeat([]byte{'a' + byte(i)}, size))
				r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
				if err != nil {
					t.Fatal(err)
				}
				if got := r.AppendBytes([]byte("before ")); string(got) != "before "+string(raw) {
					t.Fatalf("object %d came back different", i)
				}
			}
		})
	}
}

// TestBaseIsLearnedAnew packs objects that look like others than the first ones:
// after a while they must pack as well as those did.
func TestBaseIsLearnedAnew(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	in := ingester{collection: c}
	pack := func(look string, i int) *Record {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"%s-%d","resourceVersion":"%d"},"data":"%s"}`, look, i, i+1, look)
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	look := func() string {
		b := make([]byte, 3000)
		for i := range b {
			b[i] = 'a' + byte(rnd.IntN(26))
		}
		return string(b)
	}
	first, second := look(), look()
	var r *Record
	for i := range 2 * shortestTrial {
		r = pack(first, i)
	}
	well, base := r.Packed(), in.packer.base.record
	for i := range 2 * shortestTrial {
		r = pack(second, i)
	}
	if in.packer.base.record == base {
		t.Error("the base is still the first one")
	}
	if r.Packed() > 2*well {
		t.Errorf("an object of the new look is packed to %d bytes, one of the first to %d", r.Packed(), well)
	}
}

// TestNamesakesArePackedAgainstEachOther: objects that each namespace has, like root
// certificates, are not in the base, and need not be.
func TestNamesakesArePackedAgainstEachOther(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	in := ingester{collection: c}
	rnd := rand.New(rand.NewPCG(9, 10))
	noise := func() []byte { return fmt.Appendf(nil, "%x", rnd.Perm(400)) }
	var kept []*Record
	record := func(i int, name string, data []byte) *Record {
		raw := fmt.Appendf(nil, `{"metadata":{"namespace":"n%d","name":"%s","resourceVersion":"%d"},"data":"%s"}`, i, name, i+1, data)
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r)
		return r
	}
	for i := range 50 { // of which the base is learned
		record(i, "own", noise())
	}
	certificate := noise()
	record(1, "root", certificate)
	record(2, "root", certificate)
	record(3, "own", noise())
	if r := record(4, "root", certificate); r.Packed()*goodGain > r.Size() {
		t.Errorf("the third certificate is packed to %d of %d bytes", r.Packed(), r.Size())
	}
	runtime.KeepAlive(kept)
}
