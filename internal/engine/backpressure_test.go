package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// taking adds a subscriber whose handler takes a time for each change.
func (f *feed) taking(each *atomic.Int64, o SubscribeOptions) *Subscription {
	return f.Subscribe(func(ctx context.Context, _ Delta) {
		select {
		case <-time.After(time.Duration(each.Load())):
		case <-ctx.Done():
		}
	}, o)
}

// serve calls the handlers until the test ends.
func (f *feed) serve() {
	ctx, cancel := context.WithCancel(f.t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		f.Serve(ctx)
	}()
	f.t.Cleanup(func() {
		cancel()
		<-served
	})
}

// waited makes changes of different objects, and returns how long subscribers were
// waited for after that.
func (f *feed) waited(changes int) time.Duration {
	for range changes {
		f.put(fmt.Sprint("object", f.version), "uid", 100)
	}
	synctest.Wait()
	began := time.Now()
	f.waitForRoom(f.t.Context())
	return time.Since(began)
}

func TestPatienceWithSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		var each atomic.Int64
		each.Store(int64(time.Millisecond))
		s := f.taking(&each, SubscribeOptions{Limit: 20})
		f.serve()
		if d := f.waited(10); d != 0 {
			t.Errorf("waited %v for a queue that has room", d)
		}
		if d := f.waited(10); d != 9*time.Millisecond || s.queue.Len() != 10 {
			t.Errorf("waited %v, until %d were left", d, s.queue.Len())
		}
		<-time.After(time.Second)

		each.Store(int64(time.Hour))
		if d := f.waited(15); d != patience {
			t.Errorf("waited %v for a handler that is stuck, want %v", d, patience)
		}
		if d := f.waited(5); d != 0 {
			t.Errorf("waited %v for it once more", d)
		}
		each.Store(int64(time.Millisecond))
		<-time.After(2 * time.Hour)
		if d := f.waited(15); d != 4*time.Millisecond {
			t.Errorf("waited %v after it caught up", d)
		}
	})
}

// However many are stuck, patience is as long as for one; and those that always
// merge need none.
func TestPatienceIsForAllTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t)
		var stuck, quick atomic.Int64
		stuck.Store(int64(time.Hour))
		latest := f.taking(&stuck, SubscribeOptions{Limit: 2, Merge: Latest})
		f.serve()
		if d := f.waited(10); d != 0 {
			t.Errorf("waited %v for a subscriber that merges", d)
		}
		latest.Leave()
		f.taking(&stuck, SubscribeOptions{Limit: 2})
		f.taking(&quick, SubscribeOptions{Limit: 2})
		f.taking(&stuck, SubscribeOptions{Limit: 2})
		if d := f.waited(10); d != patience {
			t.Errorf("waited %v for two stuck handlers, want %v", d, patience)
		}
	})
}
