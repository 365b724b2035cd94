package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/pages"
	"github.com/kinform/kinform/wire"
)

// bulky is a decoded object that weighs what a large one does.
type bulky struct{ parts []byte }

// newBulky is a feed whose objects weigh as much decoded as they are charged for.
func newBulky(t *testing.T, mode Residency) *feed {
	f := newFeed(t)
	f.resident.mode = mode
	f.view = &View{Name: "bulky", Decode: func(r *Record, _ Neighbour) (any, error) {
		return &bulky{make([]byte, r.decodedWeight())}, nil
	}}
	return f
}

// update changes an object and has a handler read both of its states.
func (f *feed) update(name string, size int) {
	f.t.Helper()
	old := f.Get(name)
	f.put(name, "uid", size)
	for _, r := range []*Record{old, f.Get(name)} {
		if r == nil {
			continue
		}
		if _, err := f.Decode(r, f.view, Delivered); err != nil {
			f.t.Fatal(err)
		}
	}
}

// A handler that reads large objects as they change leaves a few MiB, however many
// changes there were, and nothing when it is over.
func TestDecodedStatesAreBoundedByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, Automatic)
		before := heapNow()
		for i := range 2200 {
			f.update(fmt.Sprint(i%20), 95_000)
		}
		grown := heapNow() - before
		t.Logf("after 2,200 updates of 20 objects of 95 KB: %d MiB", grown>>20)
		if most := f.resident.stored.Load()*5/4 + smallestRings + 8<<20; grown > most {
			t.Errorf("%d bytes are held after the updates", grown)
		}
		<-time.After(4 * idle)
		f.resident.mu.Lock()
		defer f.resident.mu.Unlock()
		if n := f.resident.pass.len() + f.resident.hot.len() + f.resident.keeper.len(); n != 0 {
			t.Errorf("%d states are decoded long after the last change", n)
		}
		if w := f.resident.pass.weight + f.resident.hot.weight + f.resident.keeper.weight.Load(); w != 0 {
			t.Errorf("nothing weighs %d", w)
		}
	})
}

// What is decoded leaves by age although changes go on.
func TestDecodedStatesAgeUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, Automatic)
		f.put("quiet", "uid", 1000)
		if _, err := f.Decode(f.Get("quiet"), f.view, Delivered); err != nil {
			t.Fatal(err)
		}
		for range 4 * idle / time.Second {
			f.update("busy", 1000)
			<-time.After(time.Second)
		}
		if f.Get("quiet").decoded() != nil {
			t.Error("an object that was delivered long ago is decoded, as others change")
		}
	})
}

// The last states of deleted objects, and those that an index function refused, do
// not stay forever under AlwaysDecoded.
func TestNothingStaysOfDeletedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, AlwaysDecoded)
		refuse := false
		err := f.AddIndex(Indexer{Name: "picky", Values: func(r *Record) ([]string, error) {
			if _, err := f.Decode(r, f.view, Pass); err != nil {
				return nil, err
			}
			if refuse {
				return nil, errors.New("no")
			}
			return nil, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		f.put("stays", "uid", 1000)
		for i := range 500 {
			name := fmt.Sprint("gone", i)
			f.put(name, "uid", 1000)
			f.version++
			raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":"uid","resourceVersion":"%d"}}`, name, f.version)
			final, err := f.in.record(Item{Format: wire.JSON, Bytes: raw}, true)
			if err != nil {
				t.Fatal(err)
			}
			f.Apply([]Change{{Record: final, Gone: true}})
			if _, err := f.Decode(final, f.view, Delivered); err != nil {
				t.Fatal(err)
			}
			refuse = true
			f.put(fmt.Sprint("refused", i), "uid", 1000)
			refuse = false
		}
		<-time.After(4 * idle)
		f.resident.mu.Lock()
		defer f.resident.mu.Unlock()
		if n := len(f.resident.last); n != 1 || f.Get("stays").decoded() == nil {
			t.Errorf("%d objects are decoded, want the one that is there", n)
		}
		if w := f.resident.keeper.weight.Load(); w != f.Get("stays").decodedWeight() {
			t.Errorf("what is kept weighs %d", w)
		}
	})
}

// A budget in bytes is the collection's own.
func TestBudgetIsTheCollectionsOwn(t *testing.T) {
	weight := func(s *residents) int64 { return s.Get("ns/t00000").decodedWeight() }
	synctest.Test(t, func(t *testing.T) {
		others := newResidents(t, Automatic, 1000)
		others.want(t, "of another collection", Read, 1000)
		s := newResidents(t, Residency(200*weight(others)), 100)
		s.want(t, "first time", Read, 100)
		s.want(t, "again, within the budget", Read, 0)
	})
}

// One collection cannot keep so much that there is nothing left for others.
func TestAutomaticShareIsFair(t *testing.T) {
	defer func(f func() int64) { readShare = f }(readShare)
	synctest.Test(t, func(t *testing.T) {
		big := newResidents(t, Automatic, 1000)
		// Collections of other tests may keep something still.
		budget := decodedLedger.kept.Load() + 500*big.Get("ns/t00000").decodedWeight()
		readShare = func() int64 { return budget }
		big.want(t, "the big one", Read, 1000)
		small := newResidents(t, Automatic, 100)
		small.want(t, "the small one", Read, 100)
		synctest.Wait()
		small.want(t, "the small one, again", Read, 0)
		if w := decodedLedger.kept.Load(); w > budget {
			t.Errorf("%d are kept, of %d", w, budget)
		}
	})
}

// A queue that nobody takes from is bounded by what waits in it, not by how many.
func TestQueuesAreBoundedByWeight(t *testing.T) {
	f := newFeed(t)
	release := make(chan struct{})
	f.Subscribe(func(context.Context, Delta) { <-release }, SubscribeOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		f.Serve(ctx)
	}()
	noise := make([]byte, 100_000)
	rnd := rand.New(rand.NewPCG(1, 2))
	before := heapNow()
	for i := range 900 { // fewer than the limit in number
		for j := range noise {
			noise[j] = 'a' + byte(rnd.IntN(26))
		}
		f.version++
		raw := fmt.Appendf(nil, `{"metadata":{"name":"o%d","uid":"u","resourceVersion":"%d"},"data":"%s"}`, i%10, f.version, noise)
		r, err := f.in.record(Item{Format: wire.JSON, Bytes: raw}, true)
		if err != nil {
			t.Fatal(err)
		}
		f.Apply([]Change{{Record: r}})
	}
	grown := heapNow() - before
	t.Logf("900 states of 10 objects of 100 KB wait: %d MiB", grown>>20)
	if grown > 3*weightLimit {
		t.Errorf("what waits weighs %d bytes", grown)
	}
	cancel()
	close(release)
	<-served
}

// Space of objects that are gone is given back, also when a few stay.
func TestTablesShrink(t *testing.T) {
	f := newFeed(t)
	if err := f.AddIndex(byShare); err != nil {
		t.Fatal(err)
	}
	before := heapNow()
	const n = 100_000
	for i := range n {
		f.putRecord(fmt.Sprint(i))
	}
	full := heapNow() - before
	for i := range n {
		if i%1000 != 0 {
			f.Apply([]Change{{Record: f.Get(fmt.Sprint(i)), Gone: true}})
		}
	}
	f.in.young.waiting = nil
	left := heapNow() - before
	t.Logf("%d objects: %d KiB; %d of them: %d KiB", n, full>>10, f.Len(), left>>10)
	if left > full/20 {
		t.Errorf("%d bytes are left of %d when one object of a thousand is", left, full)
	}
	f.wantListed()
	for i := range n {
		if i%1000 == 0 {
			f.Apply([]Change{{Record: f.Get(fmt.Sprint(i)), Gone: true}})
		}
	}
	if f.Len() != 0 || f.table.records.Slots() > 4*pages.Size || len(f.IndexValues("share")) != 0 {
		t.Errorf("%d objects, %d slots and %d values are left", f.Len(), f.table.records.Slots(), len(f.IndexValues("share")))
	}
	runtime.KeepAlive(f)
}

func (f *feed) putRecord(name string) {
	f.version++
	raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":"u","resourceVersion":"%d"}}`, name, f.version)
	r, err := f.in.record(Item{Format: wire.JSON, Bytes: raw}, true)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Apply([]Change{{Record: r}})
}

// A transform may read the store that it transforms for: other objects, its own, or
// all of them. It gets an answer each time, and never waits for itself.
func TestTransformsMayReadTheirStore(t *testing.T) {
	f := newFeed(t)
	const n = 300

	for _, what := range []string{"own", "next", "all"} {
		t.Run(what, func(t *testing.T) {
			view := &View{Name: what, Alters: true}
			view.Decode = func(r *Record, _ Neighbour) (any, error) {
				switch what {
				case "own":
					_, err := f.Object(r.Key(), view)
					if err != nil && !errors.Is(err, errOwnTransform) { // nil: another goroutine has made it
						t.Errorf("got %v", err)
					}
				case "next":
					var i int
					_, _ = fmt.Sscan(r.Key(), &i)
					_, _ = f.Object(fmt.Sprint((i+1)%n), view)
				case "all":
					f.Objects(view)
				}
				return r.Key(), nil
			}
			for i := range n {
				f.putRecord(fmt.Sprint(i))
			}
			done := make(chan int)
			for range 4 {
				go func() { done <- len(f.Objects(view)) }()
			}
			for range 4 {
				if got := <-done; got != n {
					t.Errorf("a list has %d objects, want %d", got, n)
				}
			}
		})
	}
}

// Resyncs come although changes never cease, and do not pile up.
func TestResyncIsNotSkippedUnderLoad(t *testing.T) {
	f := newFeed(t)
	for i := range 10 {
		f.putRecord(fmt.Sprint(i))
	}
	release, seen := make(chan struct{}), make(chan Kind, 100)
	s := f.Subscribe(func(_ context.Context, d Delta) {
		<-release
		seen <- d.Kind
	}, SubscribeOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		f.Serve(ctx)
	}()
	f.putRecord("0") // it waits behind the initial list
	s.Remind()
	s.Remind() // the first still waits
	close(release)
	kinds := map[Kind]int{}
	for range 10 + 1 + 10 {
		kinds[<-seen]++
	}
	if kinds[Resynced] != 10 {
		t.Errorf("got %v, want every object resynced once", kinds)
	}
	for s.resyncing.Load() { // its end in the queue is about to be reached
		runtime.Gosched()
	}
	s.Remind()
	for range 10 {
		if k := <-seen; k != Resynced {
			t.Errorf("got %v", k)
		}
	}
	cancel()
	<-served
}

// An informer that was stopped keeps nothing decoded, and no timer that would keep the
// informer alive.
func TestStoppedInformerIsGarbage(t *testing.T) {
	m := newModel()
	for i := range 100 {
		m.put(fmt.Sprint(i), "red")
	}
	view := &View{Name: "thing", Decode: func(r *Record, _ Neighbour) (any, error) { return &bulky{}, nil }}
	collected := make(chan struct{})
	func() {
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
		runtime.AddCleanup(inf, func(c chan struct{}) { close(c) }, collected)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		if err := inf.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
		if got := len(inf.Objects(view)); got != 100 {
			t.Fatalf("%d objects", got)
		}
		cancel()
		<-ended
		if k, p := inf.Memory().Kept, inf.Memory().Passing; k != 0 || p != 0 {
			t.Errorf("%d bytes are kept and %d on their way out", k, p)
		}
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-collected:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("something refers to the informer still")
}

// What a view has decoded goes with it, although other views read the same records.
func TestViewsTakeTheirObjectsAlong(t *testing.T) {
	f := newFeed(t)
	for i := range 100 {
		f.putRecord(fmt.Sprint(i))
	}
	other := &View{Name: "other", Decode: func(*Record, Neighbour) (any, error) { return &bulky{}, nil }}
	f.Objects(f.view)
	f.Objects(other)
	f.ForgetView(other)
	for r := range f.All() {
		if r.decoded().find(other) != nil || r.decoded().find(f.view) == nil {
			t.Fatalf("%s: the view that left has an object, or the other has none", r.Key())
		}
	}
	if n := len(f.Objects(other)); n != 100 {
		t.Errorf("a view that is read again has %d objects", n)
	}
}

// Who goes over more objects than there is room for finds most of what there is room
// for, and what is then read often is soon kept.
func TestScansBeyondTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weight := newResidents(t, Automatic, 1).Get("ns/t00000").decodedWeight()
		s := newResidents(t, Residency(700*weight), 1000)
		s.want(t, "first time", Read, 1000)
		for range 5 {
			if n := s.goOver(t, Read); n > 450 {
				t.Errorf("decoded %d of 1000 again, though there is room for 700", n)
			}
		}
		before := s.decoded
		for i := range 200 {
			for range 20 {
				r := s.Get(fmt.Sprintf("ns/t%05d", i*5))
				if _, err := s.Decode(r, s.view, Read); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := s.decoded - before; n > 400 {
			t.Errorf("decoded %d times what is read 4000 times", n)
		}
		if w := s.resident.keeper.weight.Load(); w > 700*weight {
			t.Errorf("%d are kept, of %d", w, 700*weight)
		}
	})
}
