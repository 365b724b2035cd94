package engine

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// feed applies what a watch would send to a collection.
type feed struct {
	*Collection
	t       *testing.T
	in      ingester
	view    *View
	version int
	mu      sync.Mutex
	beside  []string // for each decoding: the version that was at hand, or ""
}

type decodedThing struct{ version string }

func newFeed(t *testing.T) *feed {
	c, _ := NewCollection(Options{}, "")
	f := &feed{Collection: c, t: t, in: ingester{collection: c}}
	f.view = &View{Name: "thing", Type: reflect.TypeFor[*decodedThing](), Decode: f.decode}
	t.Cleanup(c.resident.releaseAll)
	return f
}

func (f *feed) decode(r *Record, near Neighbour) (any, error) {
	at := ""
	if near.Object != nil {
		if at = near.Object.(*decodedThing).version; at != near.Record.Version().String() {
			f.t.Errorf("the neighbour's object is of version %s, its record of %s", at, near.Record.Version())
		}
	}
	f.mu.Lock() // lists decode on several cores
	defer f.mu.Unlock()
	f.beside = append(f.beside, at)
	return &decodedThing{r.Version().String()}, nil
}

func (f *feed) put(name, uid string, size int) []byte {
	f.t.Helper()
	f.version++
	raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":%q,"resourceVersion":"%d"},"data":%q}`, name, uid, f.version, strings.Repeat("abcd", size/4))
	r, err := f.in.record(Item{Format: wire.JSON, Bytes: raw}, true)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Apply([]Change{{Record: r}})
	f.in.settle()
	return raw
}

func (f *feed) want(name string, packed bool, raw []byte) {
	f.t.Helper()
	r := f.Get(name)
	if (r.Plain() == nil) != packed {
		f.t.Errorf("%s: packed %t, want %t", name, !packed, packed)
	}
	if !bytes.Equal(r.AppendBytes(nil), raw) {
		f.t.Errorf("%s came back different", name)
	}
}

func (f *feed) read(name string) {
	f.t.Helper()
	if _, err := f.Decode(f.Get(name), f.view, Read); err != nil {
		f.t.Fatal(err)
	}
}

func TestWhatStaysIsPacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		a := f.put("a", "1", 5000)
		f.want("a", false, a)
		wait := func(d time.Duration) {
			for range d / time.Second {
				f.read("a")
				<-time.After(time.Second)
			}
		}
		wait(youngFor / 2)
		b := f.put("b", "2", 5000)
		wait(youngFor/2 + time.Second)
		c := f.put("c", "3", 5000)
		f.want("a", true, a)
		f.want("b", false, b)
		f.want("c", false, c)
		if f.Get("a").decoded() == nil {
			t.Error("packing evicted an object that is read")
		}
		if sent, packed := f.Weight(); sent != int64(len(a)+len(b)+len(c)) || packed >= sent || packed <= int64(len(b)+len(c)) {
			t.Errorf("%d bytes weigh %d", sent, packed)
		}
		b = f.put("b", "2", 5000) // it changes again, and is young for longer
		wait(youngFor / 2)
		f.put("d", "4", 100)
		f.want("b", false, b)
		wait(youngFor)
		f.put("d", "4", 100)
		f.want("b", true, b)
		<-time.After(3 * idle)
		if f.Get("a").decoded() != nil {
			t.Error("an object that nobody reads stays decoded")
		}
	})
}

// Young states are held as they came up to a weight, and packed beyond that, in the heap
// either way.
func TestYoungStatesHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		const size = 100_000
		raws := map[string][]byte{}
		n := int(2 * youngBudget() / size)
		for i := range n {
			name := fmt.Sprint(i)
			raws[name] = f.put(name, name, size)
			if got := f.table.youngs.Bytes(); got > youngBudget()+size*int64(i)/10 {
				t.Fatalf("young states weigh %d", got)
			}
			if !f.Get(name).bytes.Young() {
				t.Fatalf("state %d has not gone through the heap", i)
			}
		}
		for i := range n {
			name := fmt.Sprint(i)
			if i < n/3 || i >= n-n/3 {
				f.want(name, i >= n/2, raws[name])
			}
		}
		<-time.After(2 * youngFor)
		f.in.settle()
		for name, raw := range raws {
			f.want(name, true, raw)
			if f.Get(name).bytes.Young() {
				t.Fatalf("%s is young still", name)
			}
		}
		if got := f.table.youngs.Bytes(); got != 0 {
			t.Errorf("nothing is young any more, and weighs %d", got)
		}
	})
}

// States that are replaced are not kept alive by having been young.
func TestReplacedYoungStatesAreGarbage(t *testing.T) {
	f := newFeed(t)
	for range 2 {
		f.put("a", "1", 1000)
	}
	before := heapNow()
	for range 2000 {
		f.put("a", "1", 100_000)
	}
	if grown := heapNow() - before; grown > 4<<20 {
		t.Errorf("2,000 states of one object of 100 KB have left %d bytes", grown)
	}
	if n := len(f.in.young.waiting); n != 1 {
		t.Errorf("%d objects wait to be settled, want 1", n)
	}
}

// A state that is decoded is at hand when another one of the same object is,
// however many came between, and whichever was first.
func TestAnotherStateIsAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		f.put("a", "1", 1000)
		f.read("a") // 1
		f.put("a", "1", 1000)
		f.read("a") // 2
		f.put("a", "1", 1000)
		third := f.Get("a")
		f.put("a", "1", 1000)
		f.put("b", "2", 1000)
		f.read("a") // 4
		if _, err := f.Decode(third, f.view, Delivered); err != nil {
			t.Fatal(err)
		}
		f.put("a", "another", 1000)
		f.read("a")
		f.read("b") // 5
		f.put("b", "2", 1000)
		straight, altering := f.view, &View{Name: "altering", Type: f.view.Type, Decode: f.decode, Alters: true}
		f.view = altering
		f.read("b") // 7, not near 5, as it will be altered
		f.put("b", "2", 1000)
		f.view = straight
		f.read("b") // 8, near 5, as 7 was altered
		if got, want := f.beside, []string{"", "1", "2", "4", "", "", "", "5"}; !reflect.DeepEqual(got, want) {
			t.Errorf("at hand: %q, want %q", got, want)
		}
		<-time.After(3 * idle)
		f.resident.mu.Lock()
		defer f.resident.mu.Unlock()
		if n := len(f.resident.last); n != 0 {
			t.Errorf("%d states are held after all objects were let go", n)
		}
	})
}

// remove deletes an object as a watch would.
func (f *feed) remove(name, uid string) {
	f.t.Helper()
	f.version++
	raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":%q,"resourceVersion":"%d"}}`, name, uid, f.version)
	r, err := f.in.record(Item{Format: wire.JSON, Bytes: raw}, true)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Apply([]Change{{Record: r, Gone: true}})
	f.in.settle()
}

// however often that happens.
func TestObjectsMadeAgainWaitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		for i := range 5000 {
			uid := fmt.Sprint(i)
			f.put("a", uid, 100)
			<-time.After(50 * time.Millisecond)
			f.remove("a", uid)
			<-time.After(50 * time.Millisecond)
		}
		last := f.put("a", "last", 5000)
		t.Logf("%d wait after 5,000 lives of one object", len(f.in.young.waiting))
		if n := len(f.in.young.waiting); n > 1300 { // of the last two minutes
			t.Errorf("%d wait to be settled after 5,000 lives of one object", n)
		}
		<-time.After(2*youngFor + time.Second)
		f.put("b", "b", 100)
		<-time.After(youngFor)
		f.in.settle()
		f.want("a", true, last)
		if n := len(f.in.young.waiting); n != 0 {
			t.Errorf("%d wait to be settled after all are", n)
		}
	})
}
