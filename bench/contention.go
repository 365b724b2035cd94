package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	dropin "github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/objects"
)

// byNode is the index that users of pods have most often.
const byNode = "node"

func podIndexers() cache.Indexers {
	return cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		byNode:               func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	}
}

// newIndexer returns a store on its own, or that of a shared informer, of either
// side.
func newIndexer(t task) cache.Indexer {
	switch {
	case t.Side == clientGo && t.Kind == "store":
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, podIndexers())
	case t.Side == clientGo:
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, podIndexers()).GetIndexer()
	case t.Kind == "store":
		return dropin.NewIndexer(cache.MetaNamespaceKeyFunc, podIndexers())
	}
	return dropin.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, podIndexers()).GetIndexer()
}

// podStates returns two states of n pods, and their keys.
func podStates(n int) (states [2][]any, keys []string) {
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(n) {
		keys = append(keys, pod.Namespace+"/"+pod.Name)
		for i := range states {
			p := *pod
			p.ResourceVersion = strconv.Itoa((i+1)*versionSpan*100 + len(keys))
			states[i] = append(states[i], &p)
		}
	}
	return states, keys
}

// readers are two goroutines that get objects, one after the other with a short
// pause: without it they would take the cores from whoever writes, and the
// measurement would be of the scheduler.
type readers struct {
	get    func(key string) error
	keys   []string
	own    *corev1.Pod // what copyOwn copies
	on     atomic.Bool // what is measured counts
	stop   atomic.Bool
	group  sync.WaitGroup
	mu     sync.Mutex
	times  []time.Duration // of the present measurement
	copies []time.Duration
	failed error
}

func (r *readers) start() {
	for first := range 2 {
		r.group.Go(func() {
			for i := first; !r.stop.Load(); i++ {
				counts := r.on.Load()
				began := time.Now()
				err := r.get(r.keys[i*7919%len(r.keys)])
				took := time.Since(began)
				r.mu.Lock()
				if err != nil {
					r.failed = err
				}
				if counts || r.on.Load() {
					r.times = append(r.times, took)
				}
				r.mu.Unlock()
				time.Sleep(20 * time.Microsecond)
			}
		})
	}
}

// copyOwn copies a pod that nobody else has, now and then. It takes about as long as
// to decode one and needs no lock: what the slowest copy takes longer than the others
// is what any goroutine waits for a core, and for the garbage collector.
func (r *readers) copyOwn() {
	r.group.Go(func() {
		for !r.stop.Load() {
			began := time.Now()
			sink.Add(int64(len(r.own.DeepCopy().Name)))
			took := time.Since(began)
			if r.on.Load() {
				r.mu.Lock()
				r.copies = append(r.copies, took)
				r.mu.Unlock()
			}
			time.Sleep(200 * time.Microsecond)
		}
	})
}

// during returns how long the Gets took that began or ended while f ran.
func (r *readers) during(f func() error) ([]time.Duration, error) {
	r.on.Store(true)
	err := f()
	r.on.Store(false)
	time.Sleep(5 * time.Millisecond) // those that began and have not ended
	r.mu.Lock()
	defer r.mu.Unlock()
	times := r.times
	r.times = nil
	return times, errors.Join(err, r.failed)
}

// slowestCopy returns the slowest copy since it was last called.
func (r *readers) slowestCopy() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	copies := r.copies
	r.copies = nil
	return slices.Max(copies)
}

func (r *readers) close() {
	r.stop.Store(true)
	r.group.Wait()
}

// slowestGets sums up several replacements: the slowest Get of each, of which the
// median counts, and all of them together.
type slowestGets struct {
	slowest []time.Duration
	all     []time.Duration
}

// add takes the Gets of one replacement. There may be none: replacing few objects
// takes less time than a pause of the readers.
func (s *slowestGets) add(times []time.Duration) {
	if len(times) == 0 {
		return
	}
	s.slowest = append(s.slowest, slices.Max(times))
	s.all = append(s.all, times...)
}

func (s *slowestGets) metrics() (metrics, error) {
	if len(s.all) == 0 {
		return nil, errors.New("nobody read while the objects were replaced: they are too few, raise -objects")
	}
	m := metrics{}
	latencies(m, "get", s.all)
	slices.Sort(s.slowest)
	m["get slowest"] = s.slowest[len(s.slowest)/2].Seconds()
	m["get worst"] = s.slowest[len(s.slowest)-1].Seconds()
	return m, nil
}

// replacements is how often the objects are replaced in one run.
const replacements = 9

// replace measures Gets while Replace gives an indexer new states of all its
// objects.
func replace(_ context.Context, t task) (metrics, error) {
	states, keys := podStates(t.Objects)
	x := newIndexer(t)
	if err := x.Replace(states[0], "1"); err != nil {
		return nil, err
	}
	r := &readers{keys: keys, get: func(key string) error { return mustGet(x, key) }}
	r.start()
	defer r.close()
	var s slowestGets
	for i := range replacements {
		times, err := r.during(func() error { return x.Replace(states[(i+1)%2], strconv.Itoa(i+2)) })
		if err != nil {
			return nil, err
		}
		s.add(times)
	}
	last, _, _ := x.GetByKey(keys[0])
	if want := states[replacements%2][0]; last != want {
		return nil, errors.New("the store does not have the last state")
	}
	return s.metrics()
}

func mustGet(x cache.Indexer, key string) error {
	obj, found, err := x.GetByKey(key)
	if err != nil || !found {
		return fmt.Errorf("get %s: found %t, %w", key, found, err)
	}
	sink.Add(int64(len(obj.(*corev1.Pod).Name)))
	return nil
}

// replaceByRelist measures Gets while an informer lists again, and every object has
// changed.
func replaceByRelist(ctx context.Context, t task) (metrics, error) {
	if _, err := tell(ctx, t.Server, "/reset"); err != nil {
		return nil, err
	}
	factory, err := podFactory(t)
	if err != nil {
		return nil, err
	}
	inf := factory.Core().V1().Pods().Informer()
	if err := inf.AddIndexers(cache.Indexers{byNode: podIndexers()[byNode]}); err != nil {
		return nil, err
	}
	delivered := make(chan string, 1<<10)
	reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, after any) { delivered <- after.(*corev1.Pod).ResourceVersion }})
	if err != nil {
		return nil, err
	}
	factory.Start(context.WithoutCancel(ctx).Done())
	if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
		return nil, context.Cause(ctx)
	}
	keys := inf.GetIndexer().ListKeys()
	if len(keys) != t.Objects {
		return nil, fmt.Errorf("the store has %d of %d objects", len(keys), t.Objects)
	}
	slices.Sort(keys)
	r := &readers{keys: keys[:min(len(keys), 1000)], get: func(key string) error { return mustGet(inf.GetIndexer(), key) }}
	obj, _, _ := inf.GetIndexer().GetByKey(keys[0])
	r.own = obj.(*corev1.Pod).DeepCopy()
	r.start()
	r.copyOwn()
	defer r.close()
	var s slowestGets
	var copies []time.Duration
	for range 3 {
		times, err := r.during(func() error { return relistChanged(ctx, t, delivered) })
		if err != nil {
			return nil, err
		}
		s.add(times)
		copies = append(copies, r.slowestCopy())
	}
	m, err := s.metrics()
	if err == nil {
		slices.Sort(copies)
		m["copy slowest"] = copies[len(copies)/2].Seconds()
	}
	return m, err
}

// relistChanged has the server forget its history, and waits until the handler
// got the new state of every object.
func relistChanged(ctx context.Context, t task, delivered <-chan string) error {
	listed, err := tell(ctx, t.Server, "/expire")
	if err != nil {
		return err
	}
	first := listed - uint64(t.Objects)
	for seen := 0; seen < t.Objects; {
		select {
		case version := <-delivered:
			if v, err := strconv.ParseUint(version, 10, 64); err == nil && v > first {
				seen++
			}
		case <-ctx.Done():
			return fmt.Errorf("the handler got %d of %d objects: %w", seen, t.Objects, context.Cause(ctx))
		}
	}
	return nil
}

// updateWhileListing measures updates of an indexer while two goroutines list it
// without end.
func updateWhileListing(_ context.Context, t task) (metrics, error) {
	states, keys := podStates(t.Objects)
	x := newIndexer(t)
	if err := x.Replace(states[0], "1"); err != nil {
		return nil, err
	}
	var stop atomic.Bool
	var lists atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for !stop.Load() {
				if n := len(x.List()); n != len(keys) {
					panic(fmt.Sprintf("a list has %d of %d objects", n, len(keys)))
				}
				lists.Add(1)
			}
		})
	}
	var times []time.Duration
	began := time.Now()
	for i := 0; i < 2000 && time.Since(began) < 20*time.Second; i++ {
		obj := states[1][i*7919%len(keys)]
		at := time.Now()
		if err := x.Update(obj); err != nil {
			return nil, err
		}
		times = append(times, time.Since(at))
		time.Sleep(200 * time.Microsecond)
	}
	took := time.Since(began)
	stop.Store(true)
	group.Wait()
	m := metrics{"lists/s": float64(lists.Load()) / took.Seconds()}
	latencies(m, "update", times)
	return m, nil
}
