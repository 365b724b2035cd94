package apiserver

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// TestKill: kube-apiserver, and then etcd, end by kill -9 in the middle of 10,000
// writes. When they are back, the cache is soon equal to the server.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	s := start(t, Options{})
	for _, c := range []struct {
		name        string
		kill        func() error
		start       func(context.Context) error
		from, until int
	}{
		{"kube-apiserver", s.KillAPIServer, s.StartAPIServer, 0, 10_000},
		{"etcd", s.KillEtcd, s.StartEtcd, 10_000, 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			inf := following(t, s.Config())
			w := &writers{t: t, client: connect(t, unlimited(s.Config()))}
			half := (c.until - c.from) / 2
			killed := make(chan struct{})
			go func() {
				defer close(killed)
				w.awaitDone(ctx, half)
				if err := c.kill(); err != nil {
					t.Error(err)
				}
			}()
			written := make(chan struct{})
			go func() {
				defer close(written)
				w.write(ctx, c.from, c.until)
			}()
			<-killed
			if err := c.start(ctx); err != nil {
				t.Fatal(err)
			}
			up := time.Now()
			back := inf.awaitHealth(ctx)
			<-written
			last := time.Now()
			equal := inf.awaitEqual(ctx, w.client)
			t.Logf("kill -9 of %s after %d of %d writes: %d writes failed and were repeated; back up to following again: %v; equal: %v after the last write, %v after back up; %d lists, %d watches",
				c.name, half, c.until-c.from, w.failed.Load(), back.Sub(up).Round(time.Millisecond),
				equal.Sub(last).Round(time.Millisecond), equal.Sub(up).Round(time.Millisecond),
				inf.Status().Sources[0].Lists, inf.Status().Sources[0].Watches)
		})
	}
}

// unlimited lets a client ask as often as it likes.
func unlimited(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS = -1
	return c
}

// writers create, change and delete objects, and repeat what fails.
type writers struct {
	t            *testing.T
	client       kubernetes.Interface
	done, failed atomic.Int64
}

func (w *writers) awaitDone(ctx context.Context, n int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.done.Load() < int64(n) && ctx.Err() == nil {
		<-tick.C
	}
}

// write makes the writes of these numbers: of five in a row, one object is created
// and changed thrice, and each second one deleted again.
func (w *writers) write(ctx context.Context, from, until int) {
	var wg sync.WaitGroup
	objects := make(chan int)
	for range 8 {
		wg.Go(func() {
			for n := range objects {
				for step := range 5 {
					w.persist(ctx, n, step)
				}
			}
		})
	}
	for n := from / 5; n < until/5; n++ {
		objects <- n
	}
	close(objects)
	wg.Wait()
}

// persist makes one write, as often as it takes. What failed may have been written
// nevertheless.
func (w *writers) persist(ctx context.Context, n, step int) {
	maps := w.client.CoreV1().ConfigMaps("default")
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("k", n)}, Data: map[string]string{"step": fmt.Sprint(step)}}
	for {
		var err error
		switch {
		case step == 0:
			if _, err = maps.Create(ctx, o, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
				err = nil
			}
		case step == 4 && n%2 == 0:
			if err = maps.Delete(ctx, o.Name, metav1.DeleteOptions{}); apierrors.IsNotFound(err) {
				err = nil
			}
		default:
			_, err = maps.Update(ctx, o, metav1.UpdateOptions{})
		}
		if err == nil {
			w.done.Add(1)
			return
		}
		w.failed.Add(1)
		select {
		case <-time.After(20 * time.Millisecond): // the server is down: there is nothing to wait for
		case <-ctx.Done():
			w.t.Errorf("write %d of object %d: %v", step, n, err)
			return
		}
	}
}

// follower is an informer with a subscriber that keeps its own copy.
type follower struct {
	*kinform.Informer[*corev1.ConfigMap]
	t  *testing.T
	mu sync.Mutex
	// told is what the subscriber knows: key → version.
	told map[string]string
}

func following(t *testing.T, cfg *rest.Config) *follower {
	t.Helper()
	inf, err := kinform.New[*corev1.ConfigMap](cfg, kinform.Options{
		Namespaces: []string{"default"}, Logger: slog.New(slog.DiscardHandler),
		Backoff: kinform.Backoff{First: 100 * time.Millisecond, Most: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{Informer: inf, t: t, told: map[string]string{}}
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.ConfigMap]) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if ev.Type == kinform.EventDeleted {
			delete(f.told, ev.Key)
			return
		}
		f.told[ev.Key] = ev.ResourceVersion()
	}, kinform.SubscribeOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	if err := inf.WaitSynced(limited(t)); err != nil {
		t.Fatal(err)
	}
	return f
}

// awaitHealth waits until the informer follows the server again.
func (f *follower) awaitHealth(ctx context.Context) time.Time {
	f.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if st := f.Status(); st.State() == kinform.StateWatching && st.Cause() == nil {
			return time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.t.Fatalf("not well: %v", f.Status())
		}
	}
}

// awaitEqual waits until store and subscriber have what the server has, now that
// nobody writes.
func (f *follower) awaitEqual(ctx context.Context, client kubernetes.Interface) time.Time {
	f.t.Helper()
	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	server := map[string]string{}
	for i := range list.Items {
		server["default/"+list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		difference := f.difference(server)
		if difference == "" {
			return time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.t.Fatalf("not equal: %s; %v", difference, f.Status())
		}
	}
}

func (f *follower) difference(server map[string]string) string {
	stored := map[string]string{}
	for key, o := range f.Lister().All() {
		stored[key] = o.ResourceVersion
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, have := range map[string]map[string]string{"store": stored, "subscriber": f.told} {
		if len(have) != len(server) {
			return fmt.Sprintf("the %s has %d objects, the server %d", name, len(have), len(server))
		}
		for key, version := range server {
			if have[key] != version {
				return fmt.Sprintf("the %s has version %q of %s, the server %q", name, have[key], key, version)
			}
		}
	}
	return ""
}
