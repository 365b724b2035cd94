package chaos

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// writers create, change and delete objects, directly in the server.
type writers struct {
	clients *clients
	tell    func(key string) // of an object that is being changed
	written atomic.Uint64
	ctx     context.Context
	cancel  context.CancelFunc
	each    time.Duration // between two writes of one writer
	hot     time.Duration // between two writes of a large object

	gate   sync.RWMutex // held for writing while they pause
	paused bool         // by the one goroutine that plays the run
	done   sync.WaitGroup
}

const (
	writerCount = 8
	// namesEach is how many names there are of a kind in a namespace.
	namesEach = 60
	// hotEach is how many large objects of a kind there are, all in the first
	// namespace. Each changes every few hundred milliseconds.
	hotEach = 3
	// hotRate is how many writes of large objects there are in a second, at pace 1.
	hotRate = 16
	// The sizes of large objects.
	hotText, hotSpec = 100 << 10, 95 << 10
)

func startWriters(c *clients, tell func(key string), rate, pace float64, seed uint64) *writers {
	w := &writers{clients: c, tell: tell, each: every(rate*pace) * writerCount, hot: every(hotRate * pace)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.pause(true)
	for i := range writerCount {
		w.done.Go(func() { w.write(w.each, w.step, rand.New(rand.NewPCG(seed, uint64(i)+1))) })
	}
	w.done.Go(func() { w.write(w.hot, w.heat, rand.New(rand.NewPCG(seed, writerCount+1))) })
	return w
}

// every is the time between two of so many in a second.
func every(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

// pause returns when nothing is being written any more, or lets the writers go on.
func (w *writers) pause(pause bool) {
	if pause == w.paused {
		return
	}
	w.paused = pause
	if pause {
		w.gate.Lock()
	} else {
		w.gate.Unlock()
	}
}

func (w *writers) stop() {
	w.cancel()
	w.pause(false)
	w.done.Wait()
}

func (w *writers) write(each time.Duration, step func(*rand.Rand) error, rng *rand.Rand) {
	tick := time.NewTicker(each)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
		w.gate.RLock()
		err := step(rng)
		w.gate.RUnlock()
		if err == nil {
			w.written.Add(1)
		}
		// An error is no concern: the server may be down, or another writer was
		// quicker. What the server has is asked of the server.
	}
}

// step changes one object, whichever state it is in.
func (w *writers) step(rng *rand.Rand) error {
	gvr := []schema.GroupVersionResource{pods, configMaps, configMaps, gizmos}[rng.IntN(4)]
	ns := namespaces[rng.IntN(len(namespaces))]
	// Some objects change often, most seldom.
	name := nameOf(gvr, rng.IntN(1+rng.IntN(namesEach)))
	if rng.IntN(8) > 0 {
		return w.put(gvr, content(rng, gvr, ns, name))
	}
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	now := int64(0)
	return w.clients.dynamic.Resource(gvr).Namespace(ns).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// heat changes a large object.
func (w *writers) heat(rng *rand.Rand) error {
	gvr, size := configMaps, hotText
	if rng.IntN(3) == 0 {
		gvr, size = gizmos, hotSpec
	}
	o := content(rng, gvr, namespaces[0], hotName(rng.IntN(hotEach)))
	enlarge(o, noise(rng, size))
	return w.put(gvr, o)
}

// put changes an object, or makes it.
func (w *writers) put(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	patch, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	client := w.clients.dynamic.Resource(gvr).Namespace(obj.GetNamespace())
	w.tell(obj.GetNamespace() + "/" + obj.GetName())
	_, err = client.Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, obj, metav1.CreateOptions{})
	}
	return err
}
