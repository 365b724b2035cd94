package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/cache"
)

type checker struct {
	name string
	done chan struct{}
}

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }

func TestWaitForCacheSync(t *testing.T) {
	waits := map[string]func(stop <-chan struct{}, synced ...cache.InformerSynced) bool{
		"plain": cache.WaitForCacheSync,
		"named": func(stop <-chan struct{}, synced ...cache.InformerSynced) bool {
			return cache.WaitForNamedCacheSync("test", stop, synced...)
		},
		"with context": func(stop <-chan struct{}, synced ...cache.InformerSynced) bool {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				select {
				case <-stop:
					cancel()
				case <-ctx.Done():
				}
			}()
			return cache.WaitForNamedCacheSyncWithContext(ctx, synced...)
		},
	}
	after := func(d time.Duration) cache.InformerSynced {
		from := time.Now()
		return func() bool { return time.Since(from) >= d }
	}
	never := func() bool { return false }
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				start := time.Now()
				if !wait(stop) || !wait(stop, after(0)) || time.Since(start) != 0 {
					t.Error("waited for what is synced")
				}
				if !wait(stop, after(3*time.Second), after(time.Second)) || time.Since(start) != 3*time.Second {
					t.Errorf("synced after %v", time.Since(start))
				}
				time.AfterFunc(time.Second, func() { close(stop) })
				if wait(stop, after(0), never) {
					t.Error("said that all is synced")
				}
			})
		})
	}
}

func TestWaitForCacheSyncLooksOnceWhenStopped(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	if !cache.WaitForCacheSync(stop, func() bool { return true }) {
		t.Error("did not look")
	}
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := checker{"a", make(chan struct{})}, checker{"b", make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, func() { close(a.done) })
		time.AfterFunc(time.Second, func() { close(b.done) })
		start := time.Now()
		if !cache.WaitFor(ctx, "both", a, b) || time.Since(start) != 2*time.Second {
			t.Errorf("took %v", time.Since(start))
		}
		never := checker{"never", make(chan struct{})}
		if !cache.IsDone(a) || cache.IsDone(never) {
			t.Error("IsDone is wrong")
		}
		time.AfterFunc(time.Second, cancel)
		if cache.WaitFor(ctx, "", a, never) {
			t.Error("said that all is done")
		}
		// An ended context does not hide what is done.
		if !cache.WaitFor(ctx, "done already", a, b) || !cache.WaitFor(ctx, "nothing") {
			t.Error("said that what is done is not")
		}
	})
}
