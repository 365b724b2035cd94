package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"strings"
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
	written atomic.Uint64
	ctx     context.Context
	cancel  context.CancelFunc
	each    time.Duration // between two writes of one writer

	gate   sync.RWMutex // held for writing while they pause
	paused bool         // by the one goroutine that plays the run
	done   sync.WaitGroup
}

const (
	writerCount = 8
	// namesEach is how many names there are of a kind in a namespace.
	namesEach = 60
)

func startWriters(c *clients, rate int, seed uint64) *writers {
	w := &writers{clients: c, each: writerCount * time.Second / time.Duration(rate)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.pause(true)
	for i := range writerCount {
		w.done.Go(func() { w.write(rand.New(rand.NewPCG(seed, uint64(i)+1))) })
	}
	return w
}

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

func (w *writers) write(rng *rand.Rand) {
	tick := time.NewTicker(w.each)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
		w.gate.RLock()
		err := w.step(rng)
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
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	gvr := []schema.GroupVersionResource{pods, configMaps, configMaps, gizmos}[rng.IntN(4)]
	ns := namespaces[rng.IntN(len(namespaces))]
	// Some objects change often, most seldom.
	name := fmt.Sprintf("%s-%d", strings.TrimSuffix(gvr.Resource, "s"), rng.IntN(1+rng.IntN(namesEach)))
	client := w.clients.dynamic.Resource(gvr).Namespace(ns)
	if rng.IntN(8) == 0 {
		now := int64(0)
		return client.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	}
	obj := content(rng, gvr, ns, name)
	patch, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, obj, metav1.CreateOptions{})
	}
	return err
}

// The annotations by which an object vouches for itself.
const (
	numberAnnotation = "chaos/number"
	padAnnotation    = "chaos/pad"
	sumAnnotation    = "chaos/sum"
)

// content is an object with some random content and its checksum.
func content(rng *rand.Rand, gvr schema.GroupVersionResource, ns, name string) *unstructured.Unstructured {
	number := strconv.FormatUint(rng.Uint64(), 36)
	pad := strings.Repeat(number, rng.IntN(20))
	if rng.IntN(200) == 0 {
		pad = strings.Repeat(number, 2000)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": ns, "name": name,
		"labels": map[string]any{
			"color": []string{"red", "green", "blue"}[rng.IntN(3)],
			"size":  strconv.Itoa(rng.IntN(5)),
		},
		"annotations": map[string]any{
			numberAnnotation: number, padAnnotation: pad, sumAnnotation: checksum(ns, name, number, pad),
		},
	}}}
	switch gvr {
	case pods:
		o.SetAPIVersion("v1")
		o.SetKind("Pod")
		o.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "c", "image": "image"}}}
	case configMaps:
		o.SetAPIVersion("v1")
		o.SetKind("ConfigMap")
		o.Object["data"] = map[string]any{"number": number}
	default:
		o.SetAPIVersion(gizmos.GroupVersion().String())
		o.SetKind("Gizmo")
		o.Object["spec"] = map[string]any{"number": number, "list": []any{"x", number}, "deep": map[string]any{"n": rng.Int64N(1000)}}
	}
	return o
}

func checksum(parts ...string) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(strings.Join(parts, "\x00")))), 16)
}

var errSum = errors.New("the checksum of its annotations is wrong")

// verify tells whether an object is the whole of what a writer has written.
func verify(o metav1.Object) error {
	a := o.GetAnnotations()
	if _, ours := a[sumAnnotation]; !ours {
		return nil
	}
	if checksum(o.GetNamespace(), o.GetName(), a[numberAnnotation], a[padAnnotation]) != a[sumAnnotation] {
		return errSum
	}
	return nil
}
