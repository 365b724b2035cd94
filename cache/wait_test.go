package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

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

// TestWaitForLogs each cache when it is done, not when its turn comes, at the line
// of the program that waits.
func TestWaitForLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast, never := checker{"slow", make(chan struct{})}, checker{"fast", make(chan struct{})}, checker{"never", nil}
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		ctx = klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
		time.AfterFunc(2*time.Second, func() { close(slow.done) })
		time.AfterFunc(time.Second, func() { close(fast.done) })
		cache.WaitFor(ctx, "all", slow, fast, never)
		_, _, line, _ := runtime.Caller(0)
		here := fmt.Sprintf(" wait_test.go:%d]", line-1)
		var got []string
		for text := range strings.Lines(out.String()) {
			if !strings.Contains(text, here) {
				t.Errorf("not logged at%s %s", here, text)
			}
			header, message, _ := strings.Cut(strings.TrimSpace(text), "] ")
			_, second, _ := strings.Cut(header, "00:00:")
			got = append(got, second[:2]+" "+message)
		}
		want := []string{
			`00 "Waiting" for="all"`,
			`01 "Done waiting" for="all" instance="fast"`,
			`02 "Done waiting" for="all" instance="slow"`,
			`05 "Timed out waiting" for="all" cause="context deadline exceeded" instances=["never"]`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("logged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
