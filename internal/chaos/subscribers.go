package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/check"
)

// residents are the subscribers that stay.
func (m *member) residents(r *run) {
	c := m.checkers[0]
	c.Subscribe(check.Subscriber{Name: "every", Look: 3})
	c.Subscribe(check.Subscriber{Name: "latest", Latest: true, Look: 5})
	c.Subscribe(check.Subscriber{Name: "reminded", Resync: 700 * time.Millisecond, Look: 16})
	c.Subscribe(check.Subscriber{Name: "slow", Limit: 8, Look: 2, Then: blocks(r, 100, 300*time.Millisecond)})
	c.Subscribe(check.Subscriber{Name: "slow, latest", Latest: true, Look: 2, Then: blocks(r, 60, 100*time.Millisecond)})
	c.Subscribe(check.Subscriber{Name: "panics", Look: 8, Then: panics(r, 40), OnPanic: func(string, any, []byte) { r.panicked.Add(1) }})
}

// Each goroutine has its own chance. It is for the one that plays the run to give.
func chance(r *run) *rand.Rand { return rand.New(rand.NewPCG(r.Seed, r.rng.Uint64())) }

// blocks stays away for a while, every so often.
func blocks(r *run, often int, most time.Duration) func(context.Context, check.Event) {
	rng := chance(r)
	return func(ctx context.Context, _ check.Event) {
		if r.wild.Load() && rng.IntN(often) == 0 {
			r.sleep(ctx, time.Duration(rng.Int64N(int64(most))))
		}
	}
}

func panics(r *run, often int) func(context.Context, check.Event) {
	rng := chance(r)
	return func(context.Context, check.Event) {
		if r.wild.Load() && rng.IntN(often) == 0 {
			panic("a handler that panics, on purpose")
		}
	}
}

// comeAndGo has subscribers join and leave while it is wild.
func (m *member) comeAndGo(ctx context.Context, r *run) {
	c := m.checkers[0]
	for r.wild.Load() && ctx.Err() == nil {
		o := check.Subscriber{Name: fmt.Sprintf("guest %d", m.joined.Add(1)), Latest: m.rng.IntN(2) == 0, Look: 4}
		if m.rng.IntN(3) == 0 {
			m.leavesByItself(ctx, r, o)
			continue
		}
		guest := c.Subscribe(o)
		r.sleep(ctx, time.Duration(m.rng.Int64N(int64(time.Second))))
		guest.Stop()
	}
}

// leavesByItself has a guest that stops from inside its handler.
func (m *member) leavesByItself(ctx context.Context, r *run, o check.Subscriber) {
	var guest *check.Subscription
	joined := make(chan struct{})
	left := make(chan struct{})
	var once sync.Once
	after := 1 + m.rng.IntN(50)
	o.Then = func(context.Context, check.Event) {
		<-joined
		if after--; after <= 0 {
			guest.Stop()
			once.Do(func() { close(left) })
		}
	}
	guest = m.checkers[0].Subscribe(o)
	close(joined)
	select {
	case <-left:
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	guest.Stop()
}

// Those who change what they are given have a view of their own: objects are shared
// by the readers of one view, and what they do to each other is their own business.
// What they do must reach neither the bytes nor the readers of other views.

func asUnstructured[T any](inf *kinform.Informer[T], changes *atomic.Uint64) error {
	return meddle[*unstructured.Unstructured](inf, changes)
}

func asMetadata[T any](inf *kinform.Informer[T], changes *atomic.Uint64) error {
	return meddle[*metav1.PartialObjectMetadata](inf, changes)
}

func meddle[U metav1.Object, T any](inf *kinform.Informer[T], changes *atomic.Uint64) error {
	view, err := kinform.View[U](inf)
	if err != nil {
		return err
	}
	view.Subscribe(func(_ context.Context, ev kinform.Event[U]) {
		if !ev.Initial() {
			changes.Add(1)
		}
		o, err := ev.New()
		if err != nil {
			return // counted in Status
		}
		o.SetLabels(map[string]string{"changed": "by a handler"})
		o.SetResourceVersion("1")
		o.SetName("changed")
		if a := o.GetAnnotations(); a != nil {
			a[sumAnnotation] = "changed"
		}
	}, kinform.SubscribeOptions{Name: "meddler"})
	return nil
}
