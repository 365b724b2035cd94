package engine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/kinform/kinform/wire"
)

// flood is a server that updates few objects many times, as fast as it is read.
type flood struct {
	objects, updates int
	sample           func()        // now and then, by the goroutine that reads
	over             chan struct{} // closed after the last update
	sent             int
	buffer           []byte
}

const floodFirst = 1000

func (f *flood) version(object int) int {
	return floodFirst + f.updates - f.objects + object // of its last update
}

func (f *flood) bytes(object, version int) []byte {
	f.buffer = fmt.Appendf(f.buffer[:0], `{"metadata":{"namespace":"ns","name":"o%d","uid":"u%d","resourceVersion":"%d","labels":{"app":"a"}},"spec":{"n":%d,"text":"`,
		object, object, version, version)
	for i := range 12 {
		f.buffer = strconv.AppendInt(f.buffer, int64(object*7919+i*104729+version), 36)
		f.buffer = append(f.buffer, " some words that stay as they are,"...)
	}
	f.buffer = append(f.buffer, `"}}`...)
	return f.buffer
}

func (f *flood) String() string { return "a flood" }

func (f *flood) List(context.Context, ListOptions) (ListStream, error) {
	l := &modelList{version: floodFirst - 1}
	for i := range f.objects {
		l.items = append(l.items, append([]byte(nil), f.bytes(i, floodFirst-1)...))
	}
	return l, nil
}

func (f *flood) Watch(ctx context.Context, _ WatchOptions) (WatchStream, error) {
	return &floodWatch{f, ctx}, nil
}

type floodWatch struct {
	*flood
	ctx context.Context
}

func (w *floodWatch) Next() (Event, error) {
	if w.sent == w.updates {
		close(w.over)
		<-w.ctx.Done()
		return Event{}, w.ctx.Err()
	}
	if w.sent%20_000 == 0 {
		w.sample()
	}
	raw := w.bytes(w.sent%w.objects, floodFirst+w.sent)
	w.sent++
	return Event{Type: wire.Modified, Item: Item{Format: wire.JSON, Bytes: raw}}, nil
}

func (w *floodWatch) Buffered() bool { return w.sent%200 != 0 && w.sent < w.updates }
func (w *floodWatch) Close() error   { return nil }

// memory is what a process holds, in bytes.
type memory struct {
	heap    int64 // alive
	offHeap int64 // slabs
	garbage int64 // heap with what is not collected yet
	rss     int64
}

func memoryOf(r *Reflector, collect bool) memory {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now := memory{garbage: int64(m.HeapAlloc)}
	if collect {
		for range 3 { // cleanups of slabs run after a collection
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
	}
	now.heap = int64(m.HeapAlloc)
	now.offHeap = r.in.packer.Memory().Mapped
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		fields := strings.Fields(string(text))
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		now.rss = pages * int64(os.Getpagesize())
	}
	return now
}

// TestBlockedHandler: a handler that stays in its call while 100 objects are
// updated a million times costs no more than 16 MiB, and then hears of the newest
// state of each.
func TestBlockedHandler(t *testing.T) {
	for _, merge := range []Merge{Every, Latest} {
		t.Run(fmt.Sprint(merge), func(t *testing.T) { blockedHandler(t, merge) })
	}
}

func blockedHandler(t *testing.T, merge Merge) {
	f := &flood{objects: 100, updates: 1_000_000, over: make(chan struct{})}
	switch {
	case testing.Short() || raced:
		f.updates = 20_000
	case merge == Latest:
		f.updates = 100_000
	}
	inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": f})
	reflector := inf.reflectors[0]
	var before, most memory
	f.sample = func() {
		now := memoryOf(reflector, f.sent%100_000 == 0)
		if f.sent == 0 {
			before = now
			return
		}
		most.heap, most.offHeap = max(most.heap, now.heap), max(most.offHeap, now.offHeap)
		most.garbage, most.rss = max(most.garbage, now.garbage), max(most.rss, now.rss)
	}
	release, entered := make(chan struct{}), make(chan struct{})
	newest := map[string]string{}
	told := 0
	// The last state of each object, known before release; those that were heard of are
	// taken out.
	last, heard := map[string]string{}, make(chan struct{})
	sub := inf.Subscribe(func(_ context.Context, d Delta) {
		if told++; told == 1 {
			close(entered)
			<-release
		}
		newest[d.Key()] = d.New.Version().String()
		if newest[d.Key()] == last[d.Key()] {
			if delete(last, d.Key()); len(last) == 0 {
				close(heard)
			}
		}
	}, SubscribeOptions{Merge: merge})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	<-entered
	<-f.over
	after := memoryOf(reflector, true)
	const mib = 1 << 20
	grown := after.heap + after.offHeap - before.heap - before.offHeap
	peak := max(most.garbage, most.heap) + most.offHeap - before.heap - before.offHeap
	t.Logf("%d updates, %d wait: grown by %.1f MiB (heap %.1f, off heap %.1f); at most, garbage included: %.1f MiB; RSS %.1f MiB more",
		f.updates, sub.Status().Waiting, float64(grown)/mib, float64(after.heap-before.heap)/mib,
		float64(after.offHeap-before.offHeap)/mib, float64(peak)/mib, float64(most.rss-before.rss)/mib)
	if grown > 16*mib {
		t.Errorf("memory has grown by %d bytes, want at most 16 MiB", grown)
	}
	if peak > 16*mib {
		t.Errorf("memory grew by %d bytes at most, want at most 16 MiB", peak)
	}

	for i := range f.objects {
		last[fmt.Sprintf("ns/o%d", i)] = fmt.Sprint(f.version(i))
	}
	close(release)
	<-sub.Synced()
	<-heard
	cancel()
	<-ended
	for i := range f.objects {
		if got, want := newest[fmt.Sprintf("ns/o%d", i)], fmt.Sprint(f.version(i)); got != want {
			t.Errorf("the newest state that it heard of object %d is %s, want %s", i, got, want)
		}
	}
	if told > 3*f.objects+2*defaultLimit {
		t.Errorf("told %d times of %d objects", told, f.objects)
	}
}
