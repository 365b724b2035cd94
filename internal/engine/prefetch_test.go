package engine

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/wire"
)

// readers of a collection that is filled before they join.
type aheadRun struct {
	*Collection
	part    *Partition
	view    *View
	decoded map[string]int // by key
	last    chan struct{}  // closed when the last object of the first stretch is decoded
	sub     *Subscription
}

const aheadObjects = 200

func newAheadRun(t *testing.T, alters bool) *aheadRun {
	if before := runtime.GOMAXPROCS(0); before == 1 {
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
	c, parts := NewCollection(Options{}, "")
	a := &aheadRun{Collection: c, part: parts[0], decoded: map[string]int{}, last: make(chan struct{})}
	t.Cleanup(c.resident.releaseAll)
	list := a.list(t, "red", 1)
	final := list.Records[stretch-1]
	lock := make(chan struct{}, 1)
	a.view = &View{Name: "counted", Alters: alters, Decode: func(r *Record, _ Neighbour) (any, error) {
		lock <- struct{}{}
		defer func() { <-lock }()
		a.decoded[r.Key()]++
		if r == final {
			close(a.last)
		}
		if r == list.Records[10] {
			return nil, errors.New("spoiled")
		}
		return r.Key(), nil
	}}
	c.Replace(a.part, list)
	return a
}

// list returns a state of all objects, from a version on.
func (a *aheadRun) list(t *testing.T, color string, version uint64) (list List) {
	in := ingester{collection: a.Collection}
	for i := range aheadObjects {
		raw := thing{name: string(rune('a'+i/26)) + string(rune('a'+i%26)), uid: "u", color: color, version: version + uint64(i)}.bytes()
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		list.Records = append(list.Records, r)
	}
	return list
}

// run tells a handler of everything that is there.
func (a *aheadRun) run(t *testing.T, handler func(i int, d Delta)) {
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	a.sub = a.Subscribe(func(_ context.Context, d Delta) {
		handler(told, d)
		told++
	}, SubscribeOptions{View: a.view})
	served := make(chan struct{})
	go func() {
		defer close(served)
		a.Serve(ctx)
	}()
	<-a.sub.Synced()
	cancel()
	<-served
	if told != aheadObjects {
		t.Errorf("told of %d objects", told)
	}
}

// A handler that reads finds what comes next decoded: it waits for the end of the
// stretch, which only somebody else can decode.
func TestDecodesAheadOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAheadRun(t, false)
		a.run(t, func(i int, d Delta) {
			if i == lead+1 {
				<-a.last
			}
			obj, err := a.Decode(d.New, a.view, Delivered)
			if (err != nil) != (i == 10) || err == nil && obj != d.Key() {
				t.Errorf("%s: %v, %v", d.Key(), obj, err)
			}
		})
		for key, n := range a.decoded {
			if n != 1 {
				t.Errorf("%s was decoded %d times", key, n)
			}
		}
		if len(a.decoded) != aheadObjects {
			t.Errorf("%d objects were decoded", len(a.decoded))
		}
	})
}

func TestDecodesNothingForWhoDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAheadRun(t, false)
		a.run(t, func(i int, d Delta) {
			if i%stretch == 1 {
				_, _ = a.Decode(d.New, a.view, Delivered) // one now and then
			}
			synctest.Wait()
		})
		if got := len(a.decoded); got != (aheadObjects+stretch-2)/stretch {
			t.Errorf("%d objects were decoded", got)
		}
	})
}

// A transform is called for what the handler asks for, and by its goroutine.
func TestAltersNothingAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAheadRun(t, true)
		a.run(t, func(i int, d Delta) {
			_, _ = a.Decode(d.New, a.view, Delivered)
			synctest.Wait()
			if len(a.decoded) != i+1 {
				t.Errorf("%d objects are decoded after %d calls", len(a.decoded), i+1)
			}
		})
	})
}

// What a filter may refuse is not decoded ahead, however many of those before it the
// handler has read.
func TestDecodesNothingThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAheadRun(t, false)
		ctx, cancel := context.WithCancel(t.Context())
		asked, all := 0, make(chan struct{})
		a.sub = a.Subscribe(func(_ context.Context, d Delta) {
			_, _ = a.Decode(d.New, a.view, Delivered)
			synctest.Wait()
		}, SubscribeOptions{View: a.view, Filter: func(d Delta) bool {
			if d.Kind == Updated {
				if asked++; asked == aheadObjects {
					close(all)
				}
			}
			return d.Kind == Added || asked <= 2*lead
		}})
		served := make(chan struct{})
		go func() {
			defer close(served)
			a.Serve(ctx)
		}()
		<-a.sub.Synced()
		clear(a.decoded)
		a.Replace(a.part, a.list(t, "blue", 1000))
		<-all
		synctest.Wait()
		if s := a.sub.Status(); len(a.decoded) != 2*lead || asked != aheadObjects || s.Refused != aheadObjects-2*lead || s.Delivered != aheadObjects+2*lead {
			t.Errorf("%d were decoded, %d asked for, %d refused, %d delivered", len(a.decoded), asked, s.Refused, s.Delivered)
		}
		cancel()
		<-served
	})
}
