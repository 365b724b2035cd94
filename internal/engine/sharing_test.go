package engine

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/kinform/kinform/wire"
)

// shared is a decoded object that takes over the part of its neighbour.
type shared struct{ part *string }

func newSharing(t *testing.T) *feed {
	f := newFeed(t)
	f.view = &View{Name: "shared", Type: reflect.TypeFor[*shared](), Decode: func(_ *Record, near Neighbour) (any, error) {
		if near.Object != nil {
			return &shared{near.Object.(*shared).part}, nil
		}
		part := "as the server sent it"
		return &shared{&part}, nil
	}}
	return f
}

// While a view without a transform decodes a state beside its neighbour, a view with
// one that decodes the same state is handed nothing of it.
func TestTransformsTakeNothingFromOthers(t *testing.T) {
	f := newSharing(t)
	f.put("a", "1", 1000)
	f.read("a")
	f.put("a", "1", 1000)
	r := f.Get("a")
	plain := f.view
	inside, done := make(chan struct{}), make(chan struct{})
	read := &View{Name: "reads", Type: plain.Type, Decode: func(r *Record, near Neighbour) (any, error) {
		if near.Object == nil {
			t.Error("the view without a transform has no neighbour: the test shows nothing")
		}
		close(inside)
		<-done
		return plain.Decode(r, near)
	}}
	alters := &View{Name: "alters", Type: plain.Type, Alters: true, Decode: func(_ *Record, near Neighbour) (any, error) {
		if near.Record != nil || near.Object != nil {
			t.Error("a transform is handed another reader's object")
		}
		return &shared{}, nil
	}}
	finished := make(chan error)
	go func() {
		_, err := f.Decode(r, read, Read)
		finished <- err
	}()
	<-inside
	// It does not wait, as it may be inside a call of its own.
	if _, err := f.Collection.decode(r, alters, Read); err != nil {
		t.Error(err)
	}
	close(done)
	if err := <-finished; err != nil {
		t.Error(err)
	}
}

// What a reader has changed by mistake is handed on from state to state, but not for
// ever, although the object is read all the time.
func TestMistakenChangesEnd(t *testing.T) {
	f := newSharing(t)
	f.put("a", "1", 1000)
	obj, err := f.Decode(f.Get("a"), f.view, Read)
	if err != nil {
		t.Fatal(err)
	}
	*obj.(*shared).part = "changed"
	states := 1
	for ; states < 100; states++ {
		f.put("a", "1", 1000)
		obj, err := f.Decode(f.Get("a"), f.view, Read)
		if err != nil {
			t.Fatal(err)
		}
		if *obj.(*shared).part != "changed" {
			break
		}
	}
	t.Logf("the change was seen in %d states", states)
	if states > mostTaken+1 {
		t.Errorf("a change by mistake is seen in %d states", states)
	}
}

// BenchmarkCompaction packs 3,000 objects of 150 KB again, and shows for how long the
// writers' lock is held at the most.
func BenchmarkCompaction(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c, _ := NewCollection(Options{}, "")
		in := ingester{collection: c}
		var records []*Record
		for i := range 3000 {
			raw := fmt.Appendf(nil, `{"metadata":{"name":"o%d","resourceVersion":"%d"},"data":"%0*d"}`, i, i+1, 150_000, i)
			r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
			if err != nil {
				b.Fatal(err)
			}
			c.Apply([]Change{{Record: r}})
			records = append(records, r)
		}
		stop, longest := make(chan struct{}), make(chan time.Duration)
		go func() {
			var most time.Duration
			for {
				select {
				case <-stop:
					longest <- most
					return
				default:
				}
				began := time.Now()
				c.write.Lock()
				most = max(most, time.Since(began))
				c.write.Unlock()
			}
		}()
		b.StartTimer()
		in.repack(records)
		b.StopTimer()
		close(stop)
		b.ReportMetric(float64((<-longest).Microseconds())/1000, "ms-locked")
		b.StartTimer()
	}
}
