package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// byShare is an index that has one object in ten under one value, and all others,
// more than a page of them, under another.
var byShare = Indexer{Name: "share", Values: func(r *Record) ([]string, error) {
	if strings.HasSuffix(r.Key(), "0") {
		return []string{"few"}, nil
	}
	return []string{"many"}, nil
}}

func versionsOf(objects []any) map[string]int {
	got := map[string]int{}
	for _, obj := range objects {
		got[obj.(*decodedThing).version]++
	}
	return got
}

// wantListed compares a list, what the index has, and each object by its key, with
// the store.
func (f *feed) wantListed() {
	f.t.Helper()
	want, shares := map[string]int{}, map[string]map[string]int{"few": {}, "many": {}, "none": {}}
	for r := range f.All() {
		version := r.Version().String()
		want[version]++
		share, _ := byShare.Values(r)
		shares[share[0]][version]++
		obj, err := f.Object(r.Key(), f.view)
		if err != nil || obj.(*decodedThing).version != version {
			f.t.Fatalf("%s: got %v, %v, want version %s", r.Key(), obj, err, version)
		}
	}
	for value, want := range shares {
		if got := versionsOf(f.ObjectsBy("share", value, f.view)); !maps.Equal(got, want) {
			f.t.Fatalf("the index has %d objects under %q, of %d in the store", len(got), value, len(want))
		}
	}
	if got := versionsOf(f.Objects(f.view)); !maps.Equal(got, want) {
		f.t.Fatalf("a list of %d objects, of %d in the store", len(got), len(want))
	}
}

// Whatever changes between lists, they say what the store has.
func TestListsAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		if err := f.AddIndex(byShare); err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 0))
		for range 300 {
			for range rnd.IntN(20) {
				name := fmt.Sprint(rnd.IntN(2000))
				r := f.Get(name)
				if r != nil && rnd.IntN(3) == 0 {
					f.Apply([]Change{{Record: r, Gone: true}})
				} else {
					f.put(name, "uid", 100)
				}
			}
			switch rnd.IntN(4) {
			case 0:
				f.wantListed()
			case 1:
				<-time.After(time.Duration(rnd.IntN(60)) * time.Second)
			}
		}
		f.wantListed()
		if obj, err := f.Object("nobody", f.view); obj != nil || err != nil {
			t.Errorf("got %v, %v", obj, err)
		}
	})
}

// A list decodes what changed since the last one, and nothing else; when nobody lists
// any more, the objects are let go.
func TestListsRememberObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		if err := f.AddIndex(byShare); err != nil {
			t.Fatal(err)
		}
		const n = 1000
		for i := range n {
			f.put(fmt.Sprint(i), "uid", 100)
		}
		first := f.Objects(f.view)
		for range 10 {
			<-time.After(idle - time.Second)
			f.Objects(f.view)
		}
		if len(f.beside) != n || !slices.Equal(first, f.Objects(f.view)) {
			t.Errorf("%d objects were decoded %d times", n, len(f.beside))
		}
		f.put("7", "uid", 100)
		if f.wantListed(); len(f.beside) != n+1 {
			t.Errorf("a change of one object made %d be decoded", len(f.beside)-n)
		}
		f.Forget(f.Get("7"))
		if f.wantListed(); len(f.beside) != n+2 {
			t.Errorf("%d objects were decoded after one was forgotten", len(f.beside)-n-1)
		}
		<-time.After(3 * idle)
		if f.view.listed.Load() != nil || f.Get("8").decoded() != nil {
			t.Error("a list that nobody asks for any more holds on to its objects")
		}
	})
}

// A list does not hold on to objects for which there is no room.
func TestObjectsThatMayNotStayAreNotRemembered(t *testing.T) {
	const n = 2000
	for _, room := range []Residency{1, n / 2 * smallestWeight} {
		synctest.Test(t, func(t *testing.T) {
			f := newFeed(t)
			f.resident.mode = room
			if err := f.AddIndex(byShare); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				f.put(fmt.Sprint(i), "uid", 4)
			}
			for range 3 {
				f.wantListed()
				held := 0
				if l := f.view.listed.Load(); l != nil {
					for _, p := range *l {
						if p != nil {
							held += p.n
						}
					}
				}
				if held*smallestWeight > int(room) {
					t.Errorf("a list holds %d objects, where there is room for %d bytes", held, room)
				}
			}
		})
	}
}

// Who asks for one object after a list keeps that one, and not all of the list.
func TestOnlyWhatIsAskedForStaysAfterAList(t *testing.T) {
	for name, ask := range map[string]func(*feed){
		"by key":   func(f *feed) { _, _ = f.Object("7", f.view) },
		"by index": func(f *feed) { f.ObjectsBy("seven", "7", f.view) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFeed(t)
				seven := func(r *Record) ([]string, error) { return []string{r.Key()}, nil }
				if err := f.AddIndex(Indexer{Name: "seven", Values: seven}); err != nil {
					t.Fatal(err)
				}
				for i := range 500 {
					f.put(fmt.Sprint(i), "uid", 100)
				}
				f.Objects(f.view)
				for range 8 {
					ask(f)
					<-time.After(idle / 2)
				}
				ask(f)
				if f.Get("7").decoded() == nil || f.Get("8").decoded() != nil || f.view.listed.Load() != nil {
					t.Errorf("after two minutes, 7 is decoded: %v, 8: %v, the list is remembered: %v", f.Get("7").decoded() != nil,
						f.Get("8").decoded() != nil, f.view.listed.Load() != nil)
				}
				if n := len(f.beside); n != 500 {
					t.Errorf("500 objects were decoded %d times", n)
				}
			})
		})
	}
}
