package dropin

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
)

// idle is an informer that is never run.
func idle() clientgo.SharedIndexInformer {
	return clientgo.NewSharedIndexInformer(&clientgo.ListWatch{}, &corev1.Pod{}, 0, clientgo.Indexers{})
}

// TestGraceOfTheLast: the grace begins with the last release.
func TestGraceOfTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string]
		a, _ := g.Acquire(10 * time.Second)
		b, _ := g.Acquire(10 * time.Second)
		a.Informer("k", idle)
		b.Informer("k", idle)
		a.Release()
		<-time.After(9 * time.Second)
		b.Release()
		<-time.After(2 * time.Second)
		g.mu.Lock()
		there := g.members["k"] != nil
		g.mu.Unlock()
		if !there {
			t.Error("let go 2 s after the last release, with a grace of 10 s")
		}
		<-a.Done()
		<-b.Done()
	})
}

// TestShutdownInGrace: a lease is done when its group is shut down.
func TestShutdownInGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string]
		a, _ := g.Acquire(10 * time.Second)
		a.Informer("k", idle)
		a.Release()
		g.Shutdown()
		<-time.After(time.Hour)
		select {
		case <-a.Done():
		default:
			t.Error("the lease is never done")
			for _, m := range g.members {
				close(m.ended)
			}
		}
	})
}

// TestReleasedWhileWaitedFor: who waits for the first list of a lease is not left waiting
// when the lease is released.
func TestReleasedWhileWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute := &clientgo.ListWatch{
			ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		var g Group[string]
		l, _ := g.Acquire(0)
		l.Informer("k", func() clientgo.SharedIndexInformer {
			return clientgo.NewSharedIndexInformer(mute, &corev1.Pod{}, 0, clientgo.Indexers{})
		})
		l.Start(t.Context())
		ended := make(chan map[string]bool)
		go func() { ended <- l.WaitSynced(t.Context()) }()
		synctest.Wait()
		l.Release()
		if synced := <-ended; synced["k"] {
			t.Error("it has synced")
		}
		<-l.Done()
	})
}
