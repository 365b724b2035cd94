package dropin

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
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
