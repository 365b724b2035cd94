package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/engine/machine"
	"github.com/kinform/kinform/wire"
)

// plainJSON encodes metadata as JSON, all but those with an annotation.
type plainJSON struct{ encoded, compared int }

func (e *plainJSON) Encode(dst []byte, obj any) ([]byte, wire.Format, bool) {
	e.encoded++
	raw, err := json.Marshal(obj)
	return append(dst, raw...), wire.JSON, err == nil && obj.(*metav1.PartialObjectMetadata).Annotations == nil
}

func (e *plainJSON) EncodeAs(dst []byte, obj any, _ wire.Format) ([]byte, bool) {
	e.compared++
	raw, err := json.Marshal(obj)
	return append(dst, raw...), err == nil
}

// objectFeed is a reflector that is given objects.
type objectFeed struct {
	*Reflector
	t       *testing.T
	encoder plainJSON
	mu      sync.Mutex // lists decode on several cores
	decoded int
}

// wholeSource lists nothing: tests give what a list has to the reflector themselves.
type wholeSource struct{ Source }

func (wholeSource) ListsWhole()    {}
func (wholeSource) String() string { return "objects" }

func newObjectFeed(t *testing.T) *objectFeed {
	c, parts := NewCollection(Options{}, "")
	f := &objectFeed{t: t}
	view := &View{Name: "metadata"}
	view.Decode = func(r *Record, _ Neighbour) (any, error) {
		if obj := r.Object(); obj != nil {
			return obj, nil
		}
		f.mu.Lock()
		f.decoded++
		f.mu.Unlock()
		obj := &metav1.PartialObjectMetadata{}
		return obj, json.Unmarshal(r.AppendBytes(nil), obj)
	}
	f.Reflector = NewReflector(wholeSource{}, c, parts[0], ReflectorOptions{Encoder: &f.encoder, View: view})
	t.Cleanup(c.resident.releaseAll)
	return f
}

// sentThing is an object of a server, of some size.
func sentThing(name string, version, size int) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: "5a0a3d5c-5b0e-4b0e-9c0e-000000000001", CreationTimestamp: metav1.Unix(1_700_000_000, 0),
		ResourceVersion: fmt.Sprint(version),
	}}
	if size > 0 {
		o.Labels = map[string]string{"l": strings.Repeat("x", size)}
	}
	return o
}

// list gives a list to the reflector.
func (f *objectFeed) list(version int, objs ...*metav1.PartialObjectMetadata) {
	var l List
	for _, o := range objs {
		f.add(&l, Item{Object: o})
	}
	f.replace(context.Background(), l, Version{number: uint64(version)}, machine.Do{})
}

// send gives events to it, in one batch.
func (f *objectFeed) send(t wire.EventType, objs ...*metav1.PartialObjectMetadata) {
	f.t.Helper()
	var batch []Change
	var err error
	for _, o := range objs {
		if batch, err = f.take(Event{Type: t, Item: Item{Object: o}}, batch); err != nil {
			f.t.Fatal(err)
		}
	}
	f.collection.Apply(batch)
}

func (f *objectFeed) get(name string) any {
	f.t.Helper()
	obj, err := f.collection.Object(name, f.options.View)
	if err != nil || obj == nil {
		f.t.Fatalf("%s: %v, %v", name, obj, err)
	}
	return obj
}

// TestListsDoNotStayForOne: the objects of a list are parts of one array. Nothing holds
// one of them once it was delivered, be it packed or held as an object.
func TestListsDoNotStayForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newObjectFeed(t)
		var delivered []any
		f.collection.Subscribe(func(_ context.Context, d Delta) { delivered = append(delivered, d.Arrived()) }, SubscribeOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		go f.collection.Serve(ctx)
		odd := sentThing("odd", 2, 0)
		odd.Annotations = map[string]string{"a": "b"}
		even := sentThing("even", 1, 0)
		f.list(5, even, odd)
		synctest.Wait()
		if len(delivered) != 2 || delivered[0] != any(even) || delivered[1] != any(odd) {
			t.Errorf("delivered %v", delivered)
		}
		if r := f.collection.Get("even"); r.Object() != nil || f.get("even") == any(even) {
			t.Error("what is packed is also held as the object that came")
		}
		if r := f.collection.Get("odd"); r.Object() == nil || r.Object() == any(odd) || !maps.Equal(f.get("odd").(metav1.Object).GetAnnotations(), odd.Annotations) {
			t.Error("what does not survive is not held as a copy")
		}
		cancel()
		synctest.Wait()
	})
}

// TestOddListsStay: where nothing of a list is packed, the very objects are held.
func TestOddListsStay(t *testing.T) {
	f := newObjectFeed(t)
	odd := sentThing("odd", 2, 0)
	odd.Annotations = map[string]string{"a": "b"}
	f.list(5, odd)
	if f.get("odd") != any(odd) {
		t.Error("it was copied")
	}
}

// TestIndexFunctionsSeeWhatCame: nothing is decoded for them.
func TestIndexFunctionsSeeWhatCame(t *testing.T) {
	f := newObjectFeed(t)
	var seen []any
	err := f.collection.AddIndex(Indexer{Name: "any", Values: func(r *Record) ([]string, error) {
		obj, err := f.collection.Decode(r, f.options.View, Pass)
		seen = append(seen, obj)
		return nil, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := sentThing("a", 1, 0), sentThing("b", 6, 0)
	f.list(5, a)
	f.send(wire.Added, b)
	if len(seen) != 2 || seen[0] != any(a) || seen[1] != any(b) || f.decoded != 0 {
		t.Errorf("they saw %v, and %d were decoded", seen, f.decoded)
	}
}

// TestArrivedObjectsAreEvicted: the object of an event stays for a while, and then its
// bytes do.
func TestArrivedObjectsAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newObjectFeed(t)
		f.list(5)
		a := sentThing("a", 6, 0)
		f.send(wire.Added, a)
		if d := f.collection.Get("a").decoded(); d == nil || d.obj != any(a) || f.collection.Get("a").Object() != nil {
			t.Error("it is not packed, or does not stay")
		}
		<-time.After(4 * idle)
		if d := f.collection.Get("a").decoded(); d != nil {
			t.Error("it is not evicted")
		}
		if f.get("a").(*metav1.PartialObjectMetadata).ResourceVersion != "6" || f.decoded != 1 {
			t.Errorf("%d were decoded", f.decoded)
		}
	})
}

// TestQueuesHoldWhatCame: a queue counts the objects that it holds, and merged changes
// have the newest.
func TestQueuesHoldWhatCame(t *testing.T) {
	f := newObjectFeed(t)
	f.list(5)
	s := f.collection.Subscribe(func(context.Context, Delta) {}, SubscribeOptions{})
	last := sentThing("a", 2000, 8<<10)
	for v := range 300 { // fewer than the limit in number, and 3 MiB in bytes
		f.send(wire.Modified, sentThing("a", 6+v, 8<<10))
	}
	f.send(wire.Modified, last)
	s.queue.mu.Lock()
	weight, merged := s.queue.weight, s.queue.merged
	s.queue.mu.Unlock()
	if merged == 0 || weight > weightLimit {
		t.Errorf("%d bytes wait, %d were merged", weight, merged)
	}
	var newest any
	for deltas := s.queue.take(); deltas != nil; deltas = s.queue.take() {
		for _, d := range deltas {
			if d.marks() {
				continue
			}
			if newest = d.Arrived(); newest == nil || newest.(metav1.Object).GetResourceVersion() != d.New.Version().String() {
				t.Fatalf("a change to %s has the object %v", d.New.Version(), newest)
			}
		}
	}
	if newest != any(last) {
		t.Errorf("the last is %v", newest)
	}
}

// TestSameVersionTwice: fakes that look like servers may give two states one version.
func TestSameVersionTwice(t *testing.T) {
	f := newObjectFeed(t)
	f.list(5)
	f.send(wire.Added, sentThing("a", 6, 0))
	f.send(wire.Modified, sentThing("a", 6, 10))
	if got := f.get("a").(metav1.Object).GetLabels(); len(got) != 1 {
		t.Errorf("the second state was left out: %v", got)
	}
}

// TestUnchangedObjectsAreNotEncodedAgain: a list that has what the store has compares
// bytes, keeps records, and decodes nothing.
func TestUnchangedObjectsAreNotEncodedAgain(t *testing.T) {
	f := newObjectFeed(t)
	f.list(5, sentThing("a", 1, 10), sentThing("b", 2, 20))
	f.encoder = plainJSON{}
	a := f.collection.Get("a")
	f.list(7, sentThing("a", 1, 10), sentThing("b", 2, 21))
	if f.collection.Get("a") != a {
		t.Error("an unchanged object has another record")
	}
	if f.encoder.encoded != 1 || f.encoder.compared != 2 {
		t.Errorf("%d were encoded and %d compared, want the one that changed, and both", f.encoder.encoded, f.encoder.compared)
	}
	if f.decoded != 1 {
		t.Errorf("%d were decoded, want the one whose bytes differ", f.decoded)
	}
	if n := len(f.get("b").(metav1.Object).GetLabels()["l"]); n != 21 {
		t.Errorf("the other one is %d long", n)
	}
}

// TestDeletedObjectsAreNotEncoded: nobody will read them from the store.
func TestDeletedObjectsAreNotEncoded(t *testing.T) {
	f := newObjectFeed(t)
	f.list(5, sentThing("a", 1, 10))
	f.encoder = plainJSON{}
	f.send(wire.Deleted, sentThing("a", 6, 10))
	if f.encoder.encoded != 0 || f.collection.Len() != 0 {
		t.Errorf("%d encoded, %d left", f.encoder.encoded, f.collection.Len())
	}
}

// TestLongListsCollectFirst: what the client of a long list has left behind goes before
// as much garbage is made again; for a short list nothing is done.
func TestLongListsCollectFirst(t *testing.T) {
	defer func(f func()) { collect = f }(collect)
	for n, want := range map[int]int{100: 0, 1000: 1} {
		collected := 0
		collect = func() { collected++ }
		f := newObjectFeed(t)
		var objs []*metav1.PartialObjectMetadata
		for i := range n {
			objs = append(objs, sentThing(fmt.Sprint("o", i), 1+i, 5<<10))
		}
		f.list(5000, objs...)
		if collected != want {
			t.Errorf("%d collections for %d objects of 5 KiB", collected, n)
		}
		f.list(6000, objs...)
		if collected != want {
			t.Errorf("%d collections after the same list again", collected)
		}
	}
}
