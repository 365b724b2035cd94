package decode

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/wire"
)

// live is a server whose watch sends what it is told to.
type live struct {
	listOf
	feed chan engine.Event
}

func (l *live) Watch(ctx context.Context, _ engine.WatchOptions) (engine.WatchStream, error) {
	return &feeding{ctx, l.feed}, nil
}

type feeding struct {
	ctx  context.Context
	feed chan engine.Event
}

func (w *feeding) Next() (engine.Event, error) {
	select {
	case e := <-w.feed:
		return e, nil
	case <-w.ctx.Done():
		return engine.Event{}, w.ctx.Err()
	}
}
func (w *feeding) Buffered() bool { return len(w.feed) > 0 }
func (w *feeding) Close() error   { return nil }

type cluster struct {
	*engine.Informer
	server  *live
	mu      sync.Mutex
	raws    map[string][]byte // by key and version
	pods    []*corev1.Pod
	version int
	changed atomic.Int64
	last    atomic.Value
}

func newCluster(t testing.TB, n, workloads int, o engine.Options) *cluster {
	t.Helper()
	c := &cluster{server: &live{listOf: listOf{format: wire.Protobuf}, feed: make(chan engine.Event, 100)}, raws: map[string][]byte{}, version: 1 << 40}
	for pod := range objects.New(objects.Options{Seed: 1, Workloads: workloads}).Pods(n) {
		raw, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		c.pods = append(c.pods, pod)
		c.raws[id(pod)] = raw
		c.server.items = append(c.server.items, raw)
	}
	c.Informer = engine.NewInformer(o, engine.ReflectorOptions{}, map[string]engine.Source{"": c.server})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	if err := c.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func id(p *corev1.Pod) string { return p.Namespace + "/" + p.Name + "@" + p.ResourceVersion }

func (c *cluster) view(apart bool, transform func(*corev1.Pod) *corev1.Pod) *engine.View {
	return &engine.View{
		Name: "pods", Type: reflect.TypeFor[*corev1.Pod](), Apart: apart, Alters: transform != nil,
		Decode: func(r *engine.Record, near engine.Neighbour) (any, error) {
			if transform == nil {
				return Typed(r, near, reflect.TypeFor[corev1.Pod]())
			}
			given, err := Typed(r, engine.Neighbour{}, reflect.TypeFor[corev1.Pod]())
			if err != nil {
				return nil, err
			}
			obj := transform(given.(*corev1.Pod))
			if any(obj) == given {
				Unify(obj, near)
			}
			return obj, nil
		},
		Changed: func(key string, fields []string) {
			c.changed.Add(1)
			c.last.Store(fmt.Sprint(key, fields))
		},
	}
}

// update changes the pod at an index in some way and sends it.
func (c *cluster) update(t testing.TB, i int, rnd *rand.Rand) {
	p := c.pods[i].DeepCopy()
	c.version++
	p.ResourceVersion = fmt.Sprint(c.version)
	switch rnd.IntN(6) {
	case 0:
		p.Status.Phase = corev1.PodPhase(fmt.Sprint("phase", rnd.IntN(3)))
	case 1:
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprint(c.version)})
	case 2:
		if n := len(p.Spec.Containers); n > 0 {
			p.Spec.Containers[rnd.IntN(n)].Env = nil
		}
	case 3:
		p.Spec.Tolerations = nil
		p.Labels = map[string]string{"x": fmt.Sprint(rnd.IntN(5))}
	case 4:
		other := c.pods[rnd.IntN(len(c.pods))]
		p.Spec, p.Status = *other.Spec.DeepCopy(), *other.Status.DeepCopy()
	case 5:
		slices.Reverse(p.Spec.Containers)
		slices.Reverse(p.ManagedFields)
	}
	c.pods[i] = p
	raw, err := p.Marshal()
	if err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	c.raws[id(p)] = raw
	c.mu.Unlock()
	c.server.feed <- engine.Event{Type: wire.Modified, Item: engine.Item{Format: wire.Protobuf, Bytes: raw}}
}

func (c *cluster) check(t testing.TB, obj any) {
	p := obj.(*corev1.Pod)
	raw, err := p.DeepCopy().Marshal() // Marshal writes to quantities
	c.mu.Lock()
	want := c.raws[id(p)]
	c.mu.Unlock()
	if err != nil || !slices.Equal(raw, want) {
		t.Errorf("%s is not what the server has", id(p))
	}
}

func (c *cluster) settle(t testing.TB) {
	for {
		same := true
		for _, p := range c.pods {
			if r := c.Get(p.Namespace + "/" + p.Name); r == nil || !slices.Equal(r.AppendBytes(nil), c.raws[id(p)]) {
				same = false
			}
		}
		if same {
			return
		}
		runtime.Gosched()
	}
}

// An informer that asked for objects of its own gets them, whoever else reads the store.
func TestApartStates(t *testing.T) {
	c := newCluster(t, 300, 3, engine.Options{})
	shared, apart := c.view(false, nil), c.view(true, nil)
	c.Objects(shared)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range c.pods {
		_ = rnd
		p := c.pods[i].DeepCopy()
		c.version++
		p.ResourceVersion = fmt.Sprint(c.version)
		c.pods[i] = p
		raw, _ := p.Marshal()
		c.raws[id(p)] = raw
		c.server.feed <- engine.Event{Type: wire.Modified, Item: engine.Item{Format: wire.Protobuf, Bytes: raw}}
	}
	c.settle(t)
	var all []*corev1.Pod
	for _, obj := range c.Objects(apart) {
		all = append(all, obj.(*corev1.Pod))
	}
	if one, other, i := commonEnv(all); one != nil {
		one.Spec.Containers[i].Env[0].Name = "CHANGED"
		t.Errorf("%s and %s have parts in common in a view that is apart: a change in one shows in the other: %v", one.Name, other.Name, other.Spec.Containers[i].Env[0].Name == "CHANGED")
	}
}

// Readers of several views, updates, Forget and ForgetView at once: contents are right, no
// reader is accused, and nothing weighs anything in the end.
func TestStorm(t *testing.T) {
	for _, mode := range []engine.Residency{engine.Automatic, engine.AlwaysDecoded, engine.NeverDecoded, 1 << 20} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			c := newCluster(t, 200, 5, engine.Options{Residency: mode})
			same := func(p *corev1.Pod) *corev1.Pod { return p }
			views := []*engine.View{c.view(false, nil), c.view(false, nil), c.view(true, nil), c.view(false, same)}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			for g := range 6 {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(g), 2))
					for ctx.Err() == nil {
						v := views[rnd.IntN(len(views))]
						switch rnd.IntN(12) {
						case 0:
							for _, obj := range c.Objects(v) {
								if rnd.IntN(10) == 0 {
									c.check(t, obj)
								}
							}
						case 1:
							c.ForgetView(v)
						case 2:
							for r := range c.All() {
								c.Forget(r)
								break
							}
						case 3:
							n := 0
							for _, obj := range c.Each(v) {
								if c.check(t, obj); n > 20 {
									break
								}
								n++
							}
						default:
							for r := range c.All() {
								if rnd.IntN(20) > 0 {
									continue
								}
								obj, err := c.Decode(r, v, engine.Use(rnd.IntN(5)))
								if err != nil {
									t.Error(err)
									continue
								}
								c.check(t, obj)
							}
						}
					}
				})
			}
			rnd := rand.New(rand.NewPCG(7, 7))
			for ctx.Err() == nil {
				c.update(t, rnd.IntN(len(c.pods)), rnd)
			}
			wg.Wait()
			c.settle(t)
			for _, v := range views {
				for _, obj := range c.Objects(v) {
					c.check(t, obj)
				}
			}
			if n := c.changed.Load(); n > 0 {
				t.Errorf("%d accused: %v", n, c.last.Load())
			}
			for r := range c.All() {
				c.Forget(r)
			}
			for _, v := range views {
				c.ForgetView(v)
			}
			if m := c.Memory(); m.Kept != 0 {
				t.Errorf("%+v, and nothing is decoded", m)
			}
		})
	}
}

// A transform that has equal parts once: readers only read, the transform never writes to
// what it gave out before.
func TestInterningTransform(t *testing.T) {
	c := newCluster(t, 300, 3, engine.Options{})
	var mu sync.Mutex
	known := map[string][]corev1.Toleration{}
	v := c.view(false, func(p *corev1.Pod) *corev1.Pod {
		mu.Lock()
		defer mu.Unlock()
		text, _ := json.Marshal(p.Spec.Tolerations)
		key := string(text)
		if k, ok := known[key]; ok {
			p.Spec.Tolerations = k
		} else {
			known[key] = p.Spec.Tolerations
		}
		return p
	})
	read(c, v)
}

// remembering is a transform that gives what it gave before for the same state.
func remembering() func(*corev1.Pod) *corev1.Pod {
	var mu sync.Mutex
	known := map[string]*corev1.Pod{}
	return func(p *corev1.Pod) *corev1.Pod {
		mu.Lock()
		defer mu.Unlock()
		if k := known[id(p)]; k != nil {
			return k
		}
		known[id(p)] = p
		return p
	}
}

func TestRememberingTransform(t *testing.T) {
	c := newCluster(t, 300, 3, engine.Options{})
	v := c.view(false, remembering())
	read(c, v)
}

// read has one reader read the objects that it got, while others are decoded.
func read(c *cluster, v *engine.View) {
	var mine []*corev1.Pod
	for _, obj := range c.Objects(v) {
		mine = append(mine, obj.(*corev1.Pod))
	}
	stop, ended := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			for _, p := range mine {
				for _, t := range p.Spec.Tolerations {
					n += len(t.Key)
					if t.TolerationSeconds != nil {
						n += int(*t.TolerationSeconds)
					}
				}
			}
			select {
			case <-stop:
				ended <- n
				return
			default:
			}
		}
	}()
	for range 3 {
		c.ForgetView(v)
		for r := range c.All() {
			if _, err := c.Decode(r, v, engine.Read); err != nil {
				panic(err)
			}
		}
	}
	close(stop)
	if <-ended == 0 {
		panic("there is nothing to read")
	}
}

// TestNoQuantityInCommon: reading a quantity changes it, so that each object has its own.
func TestNoQuantityInCommon(t *testing.T) {
	c := newCluster(t, 300, 3, engine.Options{})
	for _, f := range []func(*corev1.Pod) *corev1.Pod{nil, func(p *corev1.Pod) *corev1.Pod { return p }} {
		seen := map[*resource.Quantity]string{}
		for _, obj := range c.Objects(c.view(false, f)) {
			p := obj.(*corev1.Pod)
			for _, v := range p.Spec.Volumes {
				if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil {
					continue
				}
				if other := seen[v.EmptyDir.SizeLimit]; other != "" {
					t.Fatalf("%s and %s have a quantity in common", p.Name, other)
				}
				seen[v.EmptyDir.SizeLimit] = p.Name
			}
		}
		if len(seen) == 0 {
			t.Fatal("no pod has a quantity")
		}
	}
}
