package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/kinform/kinform/internal/engine/machine"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/wire"
)

// TestSameVersionOtherContent: what a relist has under the same version, with other
// content, is taken and delivered; what is the same is not.
func TestSameVersionOtherContent(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "u1@10=red", "b": "u2@50=red", "c": "u3@20=red"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		var heard []string
		inf.Subscribe(func(_ context.Context, d Delta) {
			if !d.Initial {
				heard = append(heard, fmt.Sprint(d.Kind, " ", d.Key(), " ", d.Old.Labels().Get("color"), " ", d.New.Labels().Get("color")))
			}
		}, SubscribeOptions{})
		s.sends(modified("c", "u3@61=green")) // as an event, with its kind
		want := map[string]string{"a": "u1@10=blue", "b": "u2@50=red", "c": "u3@61=green"}
		s.sets("70", want)
		s.sends(forgets)
		holds(t, inf.Collection, want)
		if !slices.Equal(heard, []string{"updated ns/c red green", "updated ns/a red blue"}) {
			t.Errorf("delivered: %q", heard)
		}
		heard = nil
		s.sends(forgets)
		if len(heard) > 0 || inf.Status()[0].Lists != 3 {
			t.Errorf("delivered %q after a list of what was stored", heard)
		}
	})
}

// bulkList is a list of many items.
type bulkList struct {
	scriptList
	format wire.Format
	raw    [][]byte
	next   int
}

func (l *bulkList) Next() (Item, error) {
	if l.next == len(l.raw) {
		return Item{}, io.EOF
	}
	l.next++
	return Item{Format: l.format, Bytes: l.raw[l.next-1]}, nil
}

// BenchmarkRelist reads a list of 5,000 pods that are in the store already.
func BenchmarkRelist(b *testing.B) {
	g := objects.New(objects.Options{Seed: 3})
	var raw [][]byte
	for o := range g.Pods(5000) {
		o.ResourceVersion = fmt.Sprint(len(raw) + 1)
		bytes, err := o.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		raw = append(raw, bytes)
	}
	s := newPlaybook("9000", nil)
	s.list = func(ListOptions) (ListStream, error) {
		return &bulkList{scriptList: scriptList{version: "9000"}, format: wire.Protobuf, raw: raw}, nil
	}
	c, parts := NewCollection(Options{}, "")
	r := NewReflector(s, c, parts[0], ReflectorOptions{})
	r.list(b.Context(), machine.Do{Act: machine.List, Cause: First})
	held := c.Get(slices.Collect(c.All())[0].key)
	b.ReportAllocs()
	for b.Loop() {
		r.list(b.Context(), machine.Do{Act: machine.List, Cause: First})
	}
	if c.Len() != 5000 || c.Get(held.key) != held {
		b.Errorf("%d objects, or they were replaced", c.Len())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5000, "ns/object")
}
