package leasetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/apisim"
	ours "github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin"
)

// stage is a server in a bubble, with one config map.
type stage struct {
	*testing.T
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
	ctx     context.Context
}

func play(t *testing.T, do func(*stage)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apisim.Start(apisim.Options{InMemory: true})
		must(t, err)
		defer s.Close()
		client, err := kubernetes.NewForConfig(s.Config())
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		g := &stage{t, client, informers.NewSharedInformerFactory(client, 0), ctx}
		g.create("first")
		do(g)
		cancel()
		g.factory.Shutdown()
		synctest.Wait()
	})
}

func (g *stage) create(name string) {
	g.Helper()
	_, err := g.client.CoreV1().ConfigMaps("default").Create(g.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(g.T, err)
	synctest.Wait()
}

func (g *stage) acquire(grace time.Duration) *informers.Lease {
	g.Helper()
	l, err := informers.Acquire(g.factory, ours.LeaseOptions{Grace: grace})
	must(g.T, err)
	return l
}

// counts returns an informer of config maps, and how many its handler was told of.
func counts(t *testing.T, f informers.SharedInformerFactory) (cache.SharedIndexInformer, *atomic.Int64) {
	t.Helper()
	inf, n := f.Core().V1().ConfigMaps().Informer(), new(atomic.Int64)
	_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { n.Add(1) }})
	must(t, err)
	return inf, n
}

func want(t *testing.T, n *atomic.Int64, want int64, who string) {
	t.Helper()
	synctest.Wait()
	if got := n.Load(); got != want {
		t.Errorf("%s was told of %d objects, want %d", who, got, want)
	}
}

func isDone(l *informers.Lease) bool {
	synctest.Wait()
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// TestLeasesShare: two leases have one informer; the handlers of each end with it, and the
// informer with the last.
func TestLeasesShare(t *testing.T) {
	play(t, func(g *stage) {
		one, two := g.acquire(0), g.acquire(0)
		inf, first := counts(t, one)
		one.Start(g.ctx.Done())
		one.WaitForCacheSync(g.ctx.Done())
		_, second := counts(t, two)
		two.Start(g.ctx.Done())
		if synced := two.WaitForCacheSync(g.ctx.Done()); len(synced) != 1 {
			t.Errorf("synced: %v", synced)
		}
		want(t, first, 1, "the first")
		want(t, second, 1, "the second")
		one.Release()
		one.Release()
		g.create("second")
		want(t, first, 1, "the first")
		want(t, second, 2, "the second")
		if isDone(one) || inf.IsStopped() {
			t.Error("the informer has ended while it is used")
		}
		two.Release()
		if !isDone(one) || !isDone(two) || len(inf.GetStore().List()) != 0 {
			t.Error("the informer has not ended")
		}
		three := g.acquire(0)
		defer three.Shutdown()
		again, third := counts(t, three)
		three.StartWithContext(g.ctx)
		want(t, third, 2, "the third")
		if again.GetStore() == inf.GetStore() {
			t.Error("the next lease got the informer that has ended")
		}
		lister, err := three.Core().V1().ConfigMaps().Lister().ConfigMaps("default").Get("second")
		if err != nil || lister == nil {
			t.Errorf("the lister of the lease gives %v, %v", lister, err)
		}
	})
}

// TestLeaseOfWhatTheFactoryHas: what the factory was asked for stays, whoever started it.
func TestLeaseOfWhatTheFactoryHas(t *testing.T) {
	play(t, func(g *stage) {
		l := g.acquire(0)
		_, leased := counts(t, l)
		l.Start(g.ctx.Done())
		inf, own := counts(t, g.factory)
		stop, cancel := context.WithCancel(g.ctx)
		g.factory.Start(stop.Done())
		want(t, leased, 1, "the lease")
		l.Release()
		g.create("second")
		want(t, own, 2, "the factory")
		if inf.IsStopped() || isDone(l) {
			t.Error("the factory's informer ended with a lease")
		}
		cancel()
		synctest.Wait()
		if !inf.IsStopped() || !isDone(l) || len(inf.GetStore().List()) != 2 {
			t.Error("it has not ended with the factory, or cannot be read")
		}
	})
}

// TestLeaseGrace: an informer waits for the next lease.
func TestLeaseGrace(t *testing.T) {
	play(t, func(g *stage) {
		one := g.acquire(time.Minute)
		inf, _ := counts(t, one)
		one.Start(g.ctx.Done())
		one.Release()
		<-time.After(59 * time.Second)
		two := g.acquire(time.Minute)
		if again, _ := counts(t, two); again.GetStore() != inf.GetStore() {
			t.Error("it is another informer")
		}
		<-time.After(time.Hour)
		two.Release()
		<-time.After(59 * time.Second)
		if isDone(two) {
			t.Error("it has ended before its time")
		}
		<-time.After(time.Second)
		if !isDone(two) {
			t.Error("it has not ended in time")
		}
	})
}

// TestLeaseEnds: with the stop channel that it was started with, when its handler says so,
// and with the factory.
func TestLeaseEnds(t *testing.T) {
	play(t, func(g *stage) {
		l := g.acquire(0)
		counts(t, l)
		ctx, cancel := context.WithCancel(g.ctx)
		l.Start(ctx.Done())
		cancel()
		if !isDone(l) {
			t.Error("it goes on after its stop channel is closed")
		}

		l = g.acquire(0)
		_, err := l.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { l.Release() }})
		must(t, err)
		l.Start(g.ctx.Done())
		if !isDone(l) {
			t.Error("it goes on after its handler has released it")
		}
		if again := l.Core().V1().ConfigMaps().Informer(); again.HasSynced() {
			t.Error("what is asked for after the release runs")
		}

		l = g.acquire(time.Hour)
		counts(t, l)
		l.Start(g.ctx.Done())
		idle := g.acquire(0)
		counts(t, idle)
		g.factory.Shutdown()
		l.Release()
		idle.Release()
		if !isDone(l) || !isDone(idle) {
			t.Error("it goes on after the factory was shut down")
		}
		if _, err := informers.Acquire(g.factory, ours.LeaseOptions{}); !errors.Is(err, dropin.ErrShutDown) {
			t.Errorf("acquiring after that gives %v", err)
		}
		if _, err := informers.Acquire(clientinformers.NewSharedInformerFactory(nil, 0), ours.LeaseOptions{}); err == nil || !strings.Contains(err.Error(), "cannot be leased") {
			t.Errorf("acquiring from another factory gives %v", err)
		}
	})
}
