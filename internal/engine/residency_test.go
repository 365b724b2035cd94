package engine

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// residents is a collection whose decodings are counted.
type residents struct {
	*Collection
	view    *View
	mu      sync.Mutex // lists decode on several cores
	decoded int
}

func newResidents(t *testing.T, mode Residency, n int) *residents {
	t.Helper()
	c, parts := NewCollection(Options{Residency: mode}, "")
	s := &residents{Collection: c}
	s.view = &View{Name: "counted", Decode: func(r *Record, _ Neighbour) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.decoded++
		return r.Key(), nil
	}}
	in := ingester{collection: c}
	var list List
	for i := range n {
		raw := thing{name: fmt.Sprintf("t%05d", i), uid: fmt.Sprint(i), color: "red", version: uint64(i + 1)}.bytes()
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		list.Records = append(list.Records, r)
	}
	c.Replace(parts[0], list)
	t.Cleanup(func() { c.resident.releaseAll() })
	return s
}

// goOver decodes every object and returns how many had to be decoded for it.
func (s *residents) goOver(t *testing.T, use Use) int {
	t.Helper()
	before := s.decoded
	for r := range s.All() {
		if obj, err := s.Decode(r, s.view, use); err != nil || obj != r.Key() {
			t.Fatalf("got %v, %v", obj, err)
		}
	}
	return s.decoded - before
}

func (s *residents) want(t *testing.T, what string, use Use, want int) {
	t.Helper()
	if got := s.goOver(t, use); got != want {
		t.Errorf("%s: decoded %d, want %d", what, got, want)
	}
}

func TestWhatIsReadStaysDecodedWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, 1000)
		s.want(t, "first time", Read, 1000)
		for range 10 {
			<-time.After(idle - time.Second)
			s.want(t, "again", Read, 0)
		}
		<-time.After(3 * idle)
		s.want(t, "after a pause", Read, 1000)
	})
}

func TestHandlersAndSweepsDragNothingIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, 1000)
		s.want(t, "handler", Pass, 1000)
		s.want(t, "another handler, far behind", Pass, 1000)
		s.want(t, "one sweep", Sweep, 1000)
		<-time.After(5 * idle)
		s.want(t, "a sweep much later", Sweep, 1000)
		s.want(t, "the next sweep, at once", Sweep, 1000-passing)
		s.want(t, "and one more", Sweep, 0)
	})
}

func TestSubscribersNextToEachOtherShareADecoding(t *testing.T) {
	s := newResidents(t, Automatic, passing)
	s.want(t, "first subscriber", Pass, passing)
	s.want(t, "second subscriber", Pass, 0)
}

func TestSeveralSubscribersShareMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, passingSeveral)
		s.resident.readers(2)
		s.want(t, "first subscriber", Delivered, passingSeveral)
		s.want(t, "second subscriber", Delivered, 0)
		<-time.After(3 * idle)
		for r := range s.All() {
			if r.decodings.Load() != nil {
				t.Fatalf("%s is still decoded, long after all were told", r.Key())
			}
		}
	})
}

// An object that changes often is decoded once for each change: its old state is
// the one that was new before, however many others changed meanwhile.
func TestOldStatesOfHotObjectsAreAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 1000
		s := newResidents(t, Automatic, objects)
		in := ingester{collection: s.Collection}
		version := uint64(objects)
		round := func() (decoded int) {
			before := s.decoded
			for i := range objects {
				version++
				raw := thing{name: fmt.Sprintf("t%05d", i), uid: fmt.Sprint(i), color: "blue", version: version}.bytes()
				r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
				if err != nil {
					t.Fatal(err)
				}
				old := s.Get(r.Key())
				s.Apply([]Change{{Record: r}})
				for _, told := range []*Record{old, r} {
					if _, err := s.Decode(told, s.view, Delivered); err != nil {
						t.Fatal(err)
					}
				}
			}
			return s.decoded - before
		}
		if n := round(); n != 2*objects {
			t.Errorf("the first round decoded %d", n)
		}
		round()
		for range 3 {
			<-time.After(idle - time.Second)
			if n := round(); n != objects {
				t.Errorf("a later round decoded %d, want %d", n, objects)
			}
		}
		<-time.After(10 * idle)
		if n := round(); n != 2*objects {
			t.Errorf("a round after a long pause decoded %d", n)
		}
	})
}

func TestResidencyModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := newResidents(t, NeverDecoded, 1000)
		never.want(t, "never decoded", Read, 1000)
		never.want(t, "never decoded, again", Read, 1000)

		always := newResidents(t, AlwaysDecoded, 1000)
		always.want(t, "always decoded", Pass, 1000)
		<-time.After(10 * idle)
		always.want(t, "always decoded, much later", Pass, 0)
	})
}

func TestResidencyKeepsToItsBudget(t *testing.T) {
	const fits = 100
	weight := int64(0)
	for r := range newResidents(t, Automatic, 1).All() {
		weight = r.decodedWeight()
	}
	s := newResidents(t, Residency(fits*weight), 1000)
	s.want(t, "first time", Read, 1000)
	n := 0
	for r := range s.All() {
		if r.use.has(kept) {
			n++
		}
	}
	if n == 0 || n > fits {
		t.Errorf("%d objects are kept, %d fit", n, fits)
	}
	// What is read again and again stays, while others come and go.
	hot := s.Get("ns/t00007")
	for r := range s.All() {
		if _, err := s.Decode(hot, s.view, Read); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Decode(r, s.view, Read); err != nil {
			t.Fatal(err)
		}
	}
	if !hot.use.has(kept) {
		t.Error("the object that was read most was let go")
	}
}

func TestSupersededStatesAreLetGo(t *testing.T) {
	s := newResidents(t, Automatic, 2)
	before := s.resident.keeper.weight.Load()
	in := ingester{collection: s.Collection}
	for i := range 10 * passing {
		if _, err := s.Decode(s.Get("ns/t00000"), s.view, Read); err != nil {
			t.Fatal(err)
		}
		raw := thing{name: "t00000", uid: "0", color: "red", version: uint64(100 + i)}.bytes()
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		s.Apply([]Change{{Record: r}})
	}
	if n := s.resident.keeper.len(); n > 2*passing {
		t.Errorf("%d states that have left the store are remembered", n)
	}
	if grown := s.resident.keeper.weight.Load() - before; grown > 16*smallestWeight {
		t.Errorf("states that have left the store weigh %d", grown)
	}
}

// other that has left the store.
func TestPackedAgainIsNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, AlwaysDecoded)
		f.put("a", "1", 1000)
		young := f.Get("a")
		<-time.After(2 * youngFor)
		f.in.settle()
		if f.Get("a") == young {
			t.Fatal("not settled")
		}
		if _, err := f.Decode(young, f.view, Delivered); err != nil { // a handler that lags
			t.Fatal(err)
		}
		f.remove("a", "1")
		<-time.After(4 * idle)
		if m := f.memory(); m.Kept != 0 || m.Passing != 0 {
			t.Errorf("nothing is left, and weighs %+v", m)
		}
		if n := len(f.resident.last); n != 0 {
			t.Errorf("%d states are remembered", n)
		}
	})
}

// packed again itself.
func TestPackedAgainIsNotDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, Automatic)
		f.put("a", "1", 1000)
		young := f.Get("a")
		f.read("a")
		for range 2*youngFor/time.Second + 1 {
			f.read("a")
			<-time.After(time.Second)
		}
		f.in.settle()
		if f.Get("a") == young || f.Get("a").decoded() == nil {
			t.Fatal("not settled")
		}
		<-time.After(4 * idle)
		if f.Get("a").decoded() != nil {
			t.Error("the record is decoded still")
		}
		if young.decoded() != nil {
			t.Error("the record that it replaced is decoded still")
		}
		if m := f.memory(); m.Kept != 0 || m.Passing != 0 {
			t.Errorf("nothing is left, and weighs %+v", m)
		}
	})
}

// What is charged is discharged when it leaves the store, although its object was
// evicted before that.
func TestForgottenIsDischarged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, AlwaysDecoded)
		for i := range 3 {
			f.put("a", "1", 1000)
			f.read("a")
			f.Forget(f.Get("a"))
			if i == 1 {
				<-time.After(2 * youngFor)
				f.in.settle()
			}
		}
		f.remove("a", "1")
		<-time.After(4 * idle)
		if m := f.memory(); m.Kept != 0 || m.Passing != 0 {
			t.Errorf("nothing is left, and weighs %+v", m)
		}
	})
}

// A state that is decoded by an index function and is older than the stored one leaves
// nothing behind.
func TestOvertakenIsDischarged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBulky(t, AlwaysDecoded)
		err := f.AddIndex(Indexer{Name: "reads", Values: func(r *Record) ([]string, error) {
			_, err := f.Decode(r, f.view, Pass)
			return nil, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		late, err := f.in.record(Item{Format: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","uid":"1","resourceVersion":"1"}}`)}, true)
		if err != nil {
			t.Fatal(err)
		}
		f.version = 1
		f.put("a", "1", 1000)
		f.Apply([]Change{{Record: late}})
		f.remove("a", "1")
		<-time.After(4 * idle)
		if m := f.memory(); m.Kept != 0 || m.Passing != 0 {
			t.Errorf("nothing is left, and weighs %+v", m)
		}
	})
}

// TestStatesThatLeaveGoSoon: decoded states that have left the store are not held for long
// when nothing changes any more.
func TestStatesThatLeaveGoSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResidents(t, Automatic, 100)
		s.want(t, "delivered", Delivered, 100)
		var gone []*Record
		for r := range s.All() {
			gone = append(gone, r)
		}
		for _, r := range gone {
			s.resident.supersede(r)
		}
		<-time.After(3*leavingFor + time.Millisecond)
		synctest.Wait()
		for _, r := range gone {
			if r.decoded() != nil {
				t.Fatalf("%s is still decoded, %v after it has left", r.Key(), 3*leavingFor)
			}
		}
		if m := s.memory(); m.Passing != 0 {
			t.Errorf("%+v: something is still on a ring", m)
		}
	})
}
