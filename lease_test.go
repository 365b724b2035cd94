package kinform_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/internal/packed"
)

// counted counts connections that are open.
type counted struct {
	net.Conn
	open *atomic.Int64
	once atomic.Bool
}

func (c *counted) Close() error {
	if !c.once.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// usage is what a program takes.
type usage struct {
	heap, mapped, connections int64
	goroutines                int
}

func (u usage) String() string {
	return fmt.Sprintf("heap %d KiB, mapped %d KiB, %d goroutines, %d connections", u.heap>>10, u.mapped>>10, u.goroutines, u.connections)
}

func used(connections *atomic.Int64) usage {
	for range 3 { // what is only mapped is given back after the collector has seen it
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int64(m.HeapAlloc), packed.InUse().Mapped, connections.Load(), runtime.NumGoroutine()}
}

// TestThousandLeases: an informer that was acquired and released a thousand times leaves
// no more behind than one that was a hundred times, after which the dictionaries that the
// process keeps are as many as they will ever be.
func TestThousandLeases(t *testing.T) {
	s := startSim(t, apisim.Options{TLS: true})
	if err := s.Load(func(yield func(kruntime.Object) bool) {
		for pod := range objects.Pods(1, 30) {
			if !yield(pod) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	cfg := s.Config()
	var connections atomic.Int64
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		connections.Add(1)
		return &counted{Conn: conn, open: &connections}, nil
	}
	f, err := kinform.NewFactory(cfg, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Shutdown()
	ctx := t.Context()
	if err := f.Start(ctx); err != nil {
		t.Fatal(err)
	}
	lease := func() {
		l, err := kinform.Acquire[*corev1.Pod](f, kinform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.AddIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }); err != nil {
			t.Fatal(err)
		}
		sub := l.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) { _, _ = ev.New() }, kinform.SubscribeOptions{})
		if err := sub.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
		if n := l.Lister().Len(); n != 30 {
			t.Fatalf("%d pods", n)
		}
		l.Release()
		<-l.Done()
	}
	for range 100 {
		lease()
	}
	before := used(&connections)
	for range 1000 {
		lease()
	}
	after := used(&connections)
	t.Logf("after 100 leases: %v; after 1,100: %v", before, after)
	if after.heap > before.heap+1<<20 {
		t.Errorf("the heap has grown from %d to %d", before.heap, after.heap)
	}
	if after.mapped > before.mapped+1<<20 {
		t.Errorf("what is mapped has grown from %d to %d", before.mapped, after.mapped)
	}
	eventually(t, "goroutines and connections to be as before", func() bool {
		return connections.Load() <= before.connections && runtime.NumGoroutine() <= before.goroutines
	})
}

// TestReleasedWhileTheFactorySyncs: what somebody has let go meanwhile keeps no factory from
// being synced.
func TestReleasedWhileTheFactorySyncs(t *testing.T) {
	s := startSim(t, apisim.Options{})
	asked := make(chan struct{}, 100)
	defer s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods", Func: func(*http.Request) bool {
		asked <- struct{}{}
		return true
	}}, Hang: true})()
	f, err := kinform.NewFactory(s.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Shutdown()
	pods, err := kinform.Acquire[*corev1.Pod](f, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kinform.For[*corev1.Node](f, kinform.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	own, synced := make(chan error), make(chan error)
	go func() { own <- pods.WaitSynced(t.Context()) }()
	go func() { synced <- f.WaitSynced(t.Context()) }()
	<-asked
	pods.Release()
	if err := <-own; !errors.Is(err, kinform.ErrEnded) {
		t.Errorf("the wait for the lease: %v", err)
	}
	if err := <-synced; err != nil {
		t.Errorf("the wait for the factory: %v", err)
	}
}

// TestGrace: an informer goes on for a while after its last release, in which the next
// user finds it as it is.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apisim.Start(apisim.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f, err := kinform.NewFactory(s.Config(), kinform.Options{Grace: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Shutdown()
		if err := f.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		acquire := func() *kinform.Lease[*corev1.Pod] {
			l, err := kinform.Acquire[*corev1.Pod](f, kinform.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.WaitSynced(context.Background()); err != nil {
				t.Fatal(err)
			}
			return l
		}
		ended := func(l *kinform.Lease[*corev1.Pod]) bool {
			synctest.Wait()
			select {
			case <-l.Done():
				return true
			default:
				return false
			}
		}
		first := acquire()
		first.Release()
		<-time.After(50 * time.Second)
		second := acquire()
		<-time.After(time.Hour)
		if ended(second) || second.Status().Sources[0].Lists != 1 {
			t.Error("an informer that was acquired again is another one")
		}
		second.Release()
		<-time.After(30 * time.Second)
		acquire().Release() // from then on it has a minute again
		<-time.After(50 * time.Second)
		if ended(second) {
			t.Error("the informer has ended too soon")
		}
		<-time.After(11 * time.Second)
		if !ended(second) {
			t.Error("the informer has not ended")
		}
		if third := acquire(); third.Status().Sources[0].Lists != 1 {
			t.Error("the next informer is the same")
		}
	})
}

// TestLeaseBeforeStart: what is released before the factory starts does not run.
func TestLeaseBeforeStart(t *testing.T) {
	s := startSim(t, apisim.Options{})
	f, err := kinform.NewFactory(s.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	never, err := kinform.Acquire[*corev1.Pod](f, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	never.Release()
	<-never.Done()
	kept, err := kinform.Acquire[*corev1.Pod](f, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := kept.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	if never.HasSynced() || kept.Run(within(t)) == nil {
		t.Error("a lease that was released has run, or one that is held can be run again")
	}
	f.Shutdown()
	<-kept.Done()
	kept.Release()
}
