// Package leasetest has the tests of informers that are acquired and released, for the
// embedded server and the real one. Nothing else may live here.
package leasetest

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/metadatainformer"
)

// Run has informers of config maps acquired and released, often, in package kinform and in
// each of the drop-in factories, and fails unless nothing is left of them.
func Run(t *testing.T, cfg *rest.Config, times int) {
	objects := prepare(t, cfg)
	for name, open := range map[string]func(*testing.T, *rest.Config) func(*testing.T, int){
		"kinform":          leaseOwn,
		"informers":        leaseTyped,
		"dynamicinformer":  leaseDynamic,
		"metadatainformer": leaseMetadata,
	} {
		t.Run(name, func(t *testing.T) {
			own := rest.CopyConfig(cfg)
			own.QPS = -1
			var connections atomic.Int64
			own.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				connections.Add(1)
				return &counted{Conn: conn, open: &connections}, nil
			}
			lease := open(t, own)
			leaseOften(t, &connections, times, func() { lease(t, objects) })
		})
	}
}

// prepare sees to it that there is something to list, and returns how many objects that is.
func prepare(t *testing.T, cfg *rest.Config) int {
	client, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	for i := range 30 {
		_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("leased-", i)},
			Data:       map[string]string{"text": strings.Repeat(fmt.Sprint(i, " "), 500)},
		}, metav1.CreateOptions{})
		must(t, err)
	}
	all, err := client.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	return len(all.Items)
}

// leaseOften fails unless what is left after many leases is what is left after a few. The
// process keeps some dictionaries, which are then as many as they will ever be.
func leaseOften(t *testing.T, connections *atomic.Int64, times int, lease func()) {
	for range max(times/10, 70) {
		lease()
	}
	before := used(connections)
	for range times {
		lease()
	}
	after := used(connections)
	t.Logf("heap %d KiB, then %d; mapped %d KiB, then %d; %d goroutines, then %d; %d connections, then %d", before.heap>>10, after.heap>>10,
		before.mapped>>10, after.mapped>>10, before.goroutines, after.goroutines, before.connections, after.connections)
	if after.heap > before.heap+1<<20 {
		t.Errorf("the heap has grown from %d to %d", before.heap, after.heap)
	}
	if after.mapped > before.mapped+1<<20 {
		t.Errorf("what is mapped has grown from %d to %d", before.mapped, after.mapped)
	}
	for deadline := time.After(time.Minute); connections.Load() > before.connections || runtime.NumGoroutine() > before.goroutines; {
		select {
		case <-deadline:
			t.Fatalf("%d connections, %d goroutines", connections.Load(), runtime.NumGoroutine())
		default:
			runtime.Gosched()
		}
	}
}

// counted counts connections that are open.
type counted struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

type usage struct {
	heap, mapped, connections int64
	goroutines                int
}

func used(connections *atomic.Int64) usage {
	for range 3 { // what is mapped is given back after the collector has seen it
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int64(m.HeapAlloc), packed.InUse().Mapped, connections.Load(), runtime.NumGoroutine()}
}

func leaseOwn(t *testing.T, cfg *rest.Config) func(*testing.T, int) {
	f, err := kinform.NewFactory(cfg, kinform.Options{})
	must(t, err)
	t.Cleanup(f.Shutdown)
	must(t, f.Start(context.Background()))
	return func(t *testing.T, objects int) {
		l, err := kinform.Acquire[*corev1.ConfigMap](f, kinform.Options{})
		must(t, err)
		sub := l.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.ConfigMap]) { _, _ = ev.New() }, kinform.SubscribeOptions{})
		must(t, sub.WaitSynced(t.Context()))
		if n := l.Lister().Len(); n != objects {
			t.Fatalf("%d objects", n)
		}
		l.Release()
		<-l.Done()
	}
}

// leaser is a lease of a factory.
type leaser interface {
	Start(<-chan struct{})
	Release()
	Done() <-chan struct{}
}

// leaseOnce uses a lease as programs do.
func leaseOnce(t *testing.T, l leaser, informer cache.SharedIndexInformer, objects int) {
	var heard atomic.Int64
	r, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { heard.Add(1) }})
	must(t, err)
	l.Start(t.Context().Done())
	select {
	case <-r.HasSyncedChecker().Done():
	case <-t.Context().Done():
	}
	if n := len(informer.GetStore().ListKeys()); n != objects || heard.Load() != int64(objects) {
		t.Fatalf("%d objects, %d were added", n, heard.Load())
	}
	l.Release()
	<-l.Done()
	if n := len(informer.GetStore().ListKeys()); n != 0 || !informer.IsStopped() {
		t.Fatalf("%d objects are left, stopped: %v", n, informer.IsStopped())
	}
}

func leaseTyped(t *testing.T, cfg *rest.Config) func(*testing.T, int) {
	client, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	f := informers.NewSharedInformerFactory(client, 0)
	return func(t *testing.T, objects int) {
		l, err := informers.Acquire(f, cache.LeaseOptions{})
		must(t, err)
		leaseOnce(t, l, l.Core().V1().ConfigMaps().Informer(), objects)
	}
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func leaseDynamic(t *testing.T, cfg *rest.Config) func(*testing.T, int) {
	client, err := dynamic.NewForConfig(cfg)
	must(t, err)
	f := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	return func(t *testing.T, objects int) {
		l, err := dynamicinformer.Acquire(f, cache.LeaseOptions{})
		must(t, err)
		leaseOnce(t, l, l.ForResource(configMaps).Informer(), objects)
	}
}

func leaseMetadata(t *testing.T, cfg *rest.Config) func(*testing.T, int) {
	client, err := metadata.NewForConfig(cfg)
	must(t, err)
	f := metadatainformer.NewSharedInformerFactory(client, 0)
	return func(t *testing.T, objects int) {
		l, err := metadatainformer.Acquire(f, cache.LeaseOptions{})
		must(t, err)
		leaseOnce(t, l, l.ForResource(configMaps).Informer(), objects)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
