package engine

import (
	"bytes"
	"fmt"
	"iter"
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
