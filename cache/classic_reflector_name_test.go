package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// TestWatchErrorHandlersNameReflector is written as programs on client-go are,
// with only the import path changed: that it compiles is half of the test.
func TestWatchErrorHandlersNameReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := &cache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) { return nil, errors.New("broken") },
		}
		heard := make(chan string, 16)
		informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{})
		must(t, informer.SetWatchErrorHandler(func(r *cache.Reflector, err error) { heard <- r.TypeDescription() }))
		withContext := cache.NewSharedIndexInformer(lw, &corev1.Node{}, 0, cache.Indexers{})
		must(t, withContext.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) {
			heard <- r.TypeDescription()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go informer.RunWithContext(ctx)
		if got := <-heard; got != "*v1.Pod" {
			t.Errorf("heard of %s", got)
		}
		go withContext.RunWithContext(ctx)
		for got := range heard {
			if got == "*v1.Node" {
				break
			}
		}
		cancel()
		synctest.Wait()
	})
}

// TestStoreReflectorHasMethodsOfReflector: the reflector that NewReflector returns can do
// all that client-go's can.
func TestStoreReflectorHasMethodsOfReflector(t *testing.T) {
	type methods interface {
		Name() string
		TypeDescription() string
		Run(<-chan struct{})
		RunWithContext(context.Context)
		ListAndWatch(<-chan struct{}) error
		ListAndWatchWithContext(context.Context) error
		LastSyncResourceVersion() string
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	var ours *cache.StoreReflector = cache.NewReflector(&cache.ListWatch{}, &corev1.Pod{}, store, 0)
	var _, _ methods = ours, (*clientgo.Reflector)(nil)
	ours.WatchListPageSize, ours.MaxInternalErrorRetryDuration = 7, time.Second
	ours.ShouldResync = func() bool { return true }
}
