package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinform/kinform/wire"
)

// emptied is a server with many objects, and then with none.
type emptied struct {
	n       int
	gone    atomic.Bool
	restart chan struct{}
}

func (e *emptied) String() string { return "many things" }

func (e *emptied) List(_ context.Context, o ListOptions) (ListStream, error) {
	l := &emptiedList{modelList: modelList{version: 100}, n: e.n}
	if e.gone.Load() {
		l.version, l.n = 200, 0
	}
	if o.Probe {
		l.n = 0
	}
	return l, nil
}

type emptiedList struct {
	modelList
	n      int
	buffer []byte
}

func (l *emptiedList) Next() (Item, error) {
	if l.n == 0 {
		return l.modelList.Next()
	}
	l.n--
	l.buffer = fmt.Appendf(l.buffer[:0], `{"metadata":{"namespace":"ns","name":"o%d","uid":"u%d","resourceVersion":"%d","labels":{"app":"a"}},"spec":{"color":"red"}}`, l.n, l.n, l.n%90+1)
	return Item{Format: wire.JSON, Bytes: l.buffer}, nil
}

func (e *emptied) Watch(ctx context.Context, _ WatchOptions) (WatchStream, error) {
	return &emptiedWatch{e, ctx}, nil
}

type emptiedWatch struct {
	*emptied
	ctx context.Context
}

func (w *emptiedWatch) Next() (Event, error) {
	select {
	case <-w.restart:
		return Event{}, status(410, "Expired")
	case <-w.ctx.Done():
		return Event{}, w.ctx.Err()
	}
}
func (w *emptiedWatch) Buffered() bool { return false }
func (w *emptiedWatch) Close() error   { return nil }

// raced: the race detector, which makes all of it ten times as slow, is on. The
// tests that count to a million count to less then, and run again without it.
var raced bool

// TestAllGoneAtOnce: a relist that finds a million objects gone tells each of them
// once, needs memory in proportion to them, and gives it all back.
func TestAllGoneAtOnce(t *testing.T) {
	const n = 1_000_000
	e := &emptied{n: n, restart: make(chan struct{})}
	if testing.Short() || raced {
		e.n = 100_000
	}
	inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": e})
	if err := inf.AddIndex(Indexer{Name: "by name", Values: func(r *Record) ([]string, error) { return []string{r.Name()[len(r.Name())-1:]}, nil }}); err != nil {
		t.Fatal(err)
	}
	var deleted atomic.Int64
	all := make(chan struct{})
	sub := inf.Subscribe(func(_ context.Context, d Delta) {
		if d.Kind == Deleted && d.FinalStateUnknown {
			if deleted.Add(1) == int64(e.n) {
				close(all)
			}
		}
	}, SubscribeOptions{})
	before := heapNow()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	<-sub.Synced()
	full := heapNow()
	e.gone.Store(true)
	began := time.Now()
	e.restart <- struct{}{}
	var most int64
	sample, late := time.NewTicker(5*time.Millisecond), time.After(2*time.Minute)
	defer sample.Stop()
	for told := false; !told; {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, int64(m.HeapAlloc))
		select {
		case <-all:
			told = true
		case <-sample.C:
		case <-late:
			t.Fatalf("told of %d of %d after %v", deleted.Load(), e.n, time.Since(began))
		}
	}
	took := time.Since(began)
	const mib = 1 << 20
	// The last batch goes when the handler has returned from it.
	enough := before + 8*mib
	after := heapNow()
	for end := time.Now().Add(30 * time.Second); after > enough && time.Now().Before(end); {
		after = heapNow()
	}
	t.Logf("%d objects gone: told in %v; heap %d MiB before, at most %d MiB meanwhile, %d MiB after (%d MiB when there were none)",
		e.n, took.Round(time.Millisecond), full/mib, most/mib, after/mib, before/mib)
	if inf.Len() != 0 || len(inf.IndexValues("by name")) != 0 {
		t.Errorf("%d objects and %d index values are left", inf.Len(), len(inf.IndexValues("by name")))
	}
	if most > 3*full+32*mib {
		t.Errorf("%d bytes of heap at most, %d with all objects", most, full)
	}
	if after > enough {
		t.Errorf("%d bytes of heap are left of %d, %d were there at first", after, full, before)
	}
	cancel()
	<-ended
}

func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
