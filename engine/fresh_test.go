package engine

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
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
	beside  []string // for each decoding: the version that was at hand, or ""
}

type decodedThing struct{ version string }

func newFeed(t *testing.T) *feed {
	c, _ := NewCollection(Options{}, "")
	f := &feed{Collection: c, t: t, in: ingester{collection: c}}
	f.view = &View{Name: "thing", Decode: f.decode}
	t.Cleanup(func() {
		f.in.fresh.count(-1)
		c.resident.releaseAll()
	})
	return f
}

func (f *feed) decode(r *Record) (any, error) {
	at := ""
	if other, obj := r.Beside(reflect.TypeFor[*decodedThing]()); other != nil {
		if at = obj.(*decodedThing).version; at != other.Version().String() {
			f.t.Errorf("the object at hand is of version %s, its record of %s", at, other.Version())
		}
	}
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
		wait(freshFor / 2)
		b := f.put("b", "2", smallestSlab) // does not fit beside a
		wait(freshFor/2 + time.Second)
		c := f.put("c", "3", 5000)
		f.want("a", true, a)
		f.want("b", false, b)
		f.want("c", false, c)
		if f.Get("a").decoded() == nil {
			t.Error("packing let go of an object that is read")
		}
		if sent, packed := f.Weight(); sent != int64(len(a)+len(b)+len(c)) || packed >= sent || packed <= int64(len(b)+len(c)) {
			t.Errorf("%d bytes weigh %d", sent, packed)
		}
		<-time.After(3 * idle)
		if f.Get("a").decoded() != nil {
			t.Error("an object that nobody reads stays decoded")
		}
	})
}

func TestFreshStatesHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		before := freshBytes.Load()
		const size = 100_000
		raws := map[string][]byte{}
		n := 2 * freshBudget / size
		for i := range n {
			name := fmt.Sprint(i)
			raws[name] = f.put(name, name, size)
			if got := freshBytes.Load() - before; got > freshBudget {
				t.Fatalf("fresh states weigh %d", got)
			}
		}
		for i := range n {
			name := fmt.Sprint(i)
			if i < n/3 || i >= n-n/3 {
				f.want(name, i < n/3, raws[name])
			}
		}
		big := f.put("big", "big", 2*largestFresh)
		f.want("big", true, big)
		<-time.After(2 * freshFor)
		f.in.settle()
		if got := freshBytes.Load(); got != before {
			t.Errorf("nothing is fresh any more, and weighs %d", got-before)
		}
	})
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
		if _, err := f.Decode(third, f.view, Told); err != nil {
			t.Fatal(err)
		}
		f.put("a", "another", 1000)
		f.read("a")
		f.read("b") // 5
		f.put("b", "2", 1000)
		straight, altering := f.view, &View{Name: "altering", Decode: f.decode, Alters: true}
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
