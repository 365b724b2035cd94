package debug

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgotesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kinform/kinform/cache"
)

// deaf is a connection whose reader does not read: writes wait until their deadline.
type deaf struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline time.Time
	hears    int // how many writes before that
}

func (d *deaf) SetWriteDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deadline = t
	return nil
}

func (d *deaf) Write(p []byte) (int, error) {
	d.mu.Lock()
	d.hears--
	hears, deadline := d.hears >= 0, d.deadline
	d.mu.Unlock()
	if hears {
		return d.ResponseRecorder.Write(p)
	}
	<-time.After(time.Until(deadline))
	return 0, errors.New("the deadline has passed")
}

// world is a page over an informer of the drop-ins, in a bubble of its own.
type world struct {
	source *clientgotesting.FakeControllerSource
	page   *Handler
	subs   func() int
}

func inWorld(t *testing.T, test func(*testing.T, world)) {
	synctest.Test(t, func(t *testing.T) {
		source := clientgotesting.NewFakeControllerSource()
		inf := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { inf.RunWithContext(ctx) })
		synctest.Wait()
		page := New(Options{})
		if err := page.Add("pods", inf); err != nil {
			t.Fatal(err)
		}
		seen := page.informers()[0].Engine()
		test(t, world{source, page, func() int { return len(seen.Subscriptions()) }})
		page.Close()
		cancel()
		running.Wait()
		source.Shutdown()
	})
}

func (w world) get(path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	w.page.ServeHTTP(answer, request(path))
	return answer
}

func request(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/"+path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
	return r
}

// TestNothingIsBegunBeforeALook, and what was begun ends when nobody looks any more.
func TestNothingIsBegunBeforeALook(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		if n := w.subs(); n != 0 {
			t.Errorf("%d subscribers before a look, want 0", n)
		}
		for range 3 {
			if answer := w.get(""); answer.Code != http.StatusOK {
				t.Fatalf("%d: %s", answer.Code, answer.Body)
			}
			if n := w.subs(); n != 1 {
				t.Errorf("%d subscribers while somebody looks, want 1", n)
			}
			<-time.After(59 * time.Second)
		}
		synctest.Wait()
		if n := w.subs(); n != 1 {
			t.Errorf("%d subscribers soon after a look, want 1", n)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := w.subs(); n != 0 {
			t.Errorf("%d subscribers a minute after the last look, want 0", n)
		}
		if w.get("informer?i=pods").Code != http.StatusOK || w.subs() != 1 {
			t.Error("the next look does not begin it again")
		}
	})
}

// TestStreamLasts: while a stream is open, somebody looks.
func TestStreamLasts(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.page.ServeHTTP(httptest.NewRecorder(), request("live").WithContext(ctx))
		}()
		<-time.After(time.Hour)
		if n := w.subs(); n != 1 {
			t.Errorf("%d subscribers while a stream is open, want 1", n)
		}
		cancel()
		<-ended
		<-time.After(2 * time.Minute)
		if n := w.subs(); n != 0 {
			t.Errorf("%d subscribers after the stream has ended, want 0", n)
		}
	})
}

// TestSlowReader: who does not read is left after a while, and until then little waits for
// them.
func TestSlowReader(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		slow := &deaf{ResponseRecorder: httptest.NewRecorder(), hears: 2}
		began, ended := time.Now(), make(chan time.Duration, 1)
		go func() {
			w.page.ServeHTTP(slow, request("live?i=pods"))
			ended <- time.Since(began)
		}()
		synctest.Wait()
		for i := range 20_000 {
			w.source.Modify(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("pod-%d", i%10), Annotations: map[string]string{"text": strings.Repeat("x", 4096)},
			}})
			if i%100 == 99 {
				synctest.Wait()
			}
		}
		watcher, _ := w.page.looking.watcher("pods")
		watcher.mu.Lock()
		if watcher.events < 1000 {
			t.Fatalf("the page heard of %d changes", watcher.events)
		}
		for r := range watcher.readers {
			r.mu.Lock()
			if n, bytes := len(r.queue.waiting), r.queue.weight; n > readerBurst || bytes > readerBytes || r.queue.dropped == 0 {
				t.Errorf("%d changes of %d bytes wait, and %d were dropped", n, bytes, r.queue.dropped)
			}
			r.mu.Unlock()
		}
		if watcher.recent.weight > recentBytes {
			t.Errorf("%d bytes of states are remembered, want %d at most", watcher.recent.weight, recentBytes)
		}
		watcher.mu.Unlock()
		if lasted := <-ended; lasted < readerPauses || lasted > 2*readerPauses {
			t.Errorf("it was left after %v, want %v", lasted, readerPauses)
		}
		if n := len(watcher.readers) + len(w.page.streams); n != 0 {
			t.Errorf("%d traces of it are left", n)
		}
	})
}

// TestPace: more than people can read is left out, and counted.
func TestPace(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ctx, cancel := context.WithCancel(t.Context())
		answer, ended := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(ended)
			w.page.ServeHTTP(answer, request("live?i=pods").WithContext(ctx))
		}()
		synctest.Wait()
		for i := range 1000 {
			w.source.Modify(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", i)}})
			<-time.After(10 * time.Millisecond)
		}
		cancel()
		<-ended
		text := answer.Body.String()
		shown := strings.Count(text, `\u003cli class=`)
		if shown < 300 || shown > 10*2*readerPace+readerBurst {
			t.Errorf("%d changes were shown in 10 s", shown)
		}
		if !strings.Contains(text, `"dropped":`) {
			t.Error("what was left out is not counted")
		}
	})
}

// TestHotList: what changes most is found, however much else changes.
func TestHotList(t *testing.T) {
	var h hotList
	now := time.Now()
	for i := range 200_000 {
		h.add(fmt.Sprint("default/once-", i), now)
		if i%10 == 0 {
			h.add("default/hot", now)
		}
		if h.bytes > hotBytes {
			t.Fatalf("it takes %d bytes after %d changes, want %d at most", h.bytes, i, hotBytes)
		}
	}
	top := h.top(1)
	if top[0].Key != "default/hot" || top[0].Changes < 20_000 || top[0].Changes > 20_000+h.missed {
		t.Errorf("got %v, with %d missed", top, h.missed)
	}
}
