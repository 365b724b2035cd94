package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// audience is a subscriber that knows what it was told.
type audience struct {
	t        *testing.T
	state    map[string]string // uid@version, by name
	replayed map[string]int
	changes  int
	each     func(Delta)
}

func (a *audience) hear(_ context.Context, d Delta) {
	name, now := d.New.Name(), d.New.UID()+"@"+d.New.Version().String()
	switch was, there := a.state[name]; {
	case d.Kind == Added && there, d.Kind != Added && !there:
		a.t.Errorf("%s %s when it was %q", d.Kind, name, was)
	case d.Kind == Resynced && was != now:
		a.t.Errorf("%s was replayed as %s when it was %s", name, now, was)
	}
	switch d.Kind {
	case Deleted:
		delete(a.state, name)
	case Resynced:
		a.replayed[name]++
	default:
		a.state[name] = now
	}
	if d.Kind != Resynced {
		a.changes++
	}
	if a.each != nil {
		a.each(d)
	}
}

func newAudience(t *testing.T) *audience {
	return &audience{t: t, state: map[string]string{}, replayed: map[string]int{}}
}

func things(n int) map[string]string {
	items := map[string]string{}
	for i := range n {
		items[fmt.Sprint("t", i)] = fmt.Sprintf("u%d@%d", i, i+1)
	}
	return items
}

// TestReplayIsSmooth: every object comes once, at a rate, and few wait at a time.
func TestReplayIsSmooth(t *testing.T) {
	for name, c := range map[string]struct {
		o    ReplayOptions
		took time.Duration
	}{
		"default":    {ReplayOptions{}, 5 * time.Second},
		"per second": {ReplayOptions{PerSecond: 500}, 10 * time.Second},
		"over":       {ReplayOptions{Over: time.Hour}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPlaybook("5000", things(5000))
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				a, most := newAudience(t), 0
				sub := inf.Subscribe(a.hear, SubscribeOptions{})
				<-sub.Synced()
				a.each = func(d Delta) {
					if d.Kind == Resynced {
						most = max(most, sub.Status().Waiting)
					}
				}
				began := time.Now()
				n, err := sub.Replay(context.Background(), c.o)
				if took := time.Since(began); err != nil || n != 5000 || took < c.took || took > c.took+time.Second {
					t.Errorf("%d objects in %v, %v", n, took, err)
				}
				if len(a.replayed) != 5000 || a.changes != 5000 || most > takeAtMost {
					t.Errorf("%d were replayed, %d changes, %d waited", len(a.replayed), a.changes, most)
				}
			})
		})
	}
}

// TestReplayKeepsTheOrder: changes are delivered between what is replayed, and nothing is
// replayed that the subscriber has seen the end of, however its queue merges.
func TestReplayKeepsTheOrder(t *testing.T) {
	for _, o := range []SubscribeOptions{{}, {Merge: Latest}, {Limit: 2}, {Filter: func(d Delta) bool { return d.Kind != Updated || d.New.number%2 == 0 }}} {
		t.Run(fmt.Sprint(o.Merge, o.Limit, o.Filter != nil), func(t *testing.T) {
			s := newPlaybook("300", things(300))
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				a := newAudience(t)
				if o.Filter != nil {
					pass := o.Filter
					o.Filter = func(d Delta) bool {
						ok := pass(d)
						if !ok {
							a.state[d.New.Name()] = d.New.UID() + "@" + d.New.Version().String()
						}
						return ok
					}
				}
				a.each = func(Delta) { <-time.After(time.Millisecond) }
				sub := inf.Subscribe(a.hear, o)
				<-sub.Synced()
				done := make(chan int)
				go func() {
					n, err := sub.Replay(context.Background(), ReplayOptions{})
					if err != nil {
						t.Error(err)
					}
					done <- n
				}()
				version := uint64(1000)
				for r := rand.New(rand.NewPCG(1, 2)); version < 3000; version++ {
					name := fmt.Sprint("t", r.IntN(100)) // the others stay
					ev := modified(name, fmt.Sprintf("u%s@%d", name[1:], version))
					switch held := inf.Get("ns/" + name); {
					case held == nil:
						ev.Type = addedAs("", "@").Type
					case r.IntN(3) == 0:
						ev.Type = deletedAs("", "@").Type
					}
					s.events <- ev
					<-time.After(200 * time.Microsecond)
				}
				n := <-done
				sub.Stop()
				for i := 100; i < 300; i++ {
					if name := fmt.Sprint("t", i); a.replayed[name] != 1 {
						t.Errorf("%s was replayed %d times", name, a.replayed[name])
					}
				}
				if n < 200 || n > 300 {
					t.Errorf("%d were replayed", n)
				}
			})
		})
	}
}

// TestReplayOfAStoreThatShrinks: those that stay are replayed, wherever they are moved to.
func TestReplayOfAStoreThatShrinks(t *testing.T) {
	s := newPlaybook("5000", things(5000))
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		a := newAudience(t)
		sub := inf.Subscribe(a.hear, SubscribeOptions{})
		<-sub.Synced()
		a.each = func(d Delta) {
			if len(a.replayed) == 1000 && a.changes == 5000 {
				for i := range 4990 {
					s.events <- deletedAs(fmt.Sprint("t", i), fmt.Sprintf("u%d@%d", i, 6000+i))
				}
			}
		}
		if _, err := sub.Replay(context.Background(), ReplayOptions{}); err != nil {
			t.Error(err)
		}
		sub.Stop()
		for i := 4990; i < 5000; i++ {
			if a.replayed[fmt.Sprint("t", i)] == 0 {
				t.Errorf("t%d was not replayed", i)
			}
		}
		if inf.table.moves == 0 {
			t.Error("nothing was moved")
		}
	})
}

// TestReplayEnds: with its context, with the subscription, and not inside the handler.
func TestReplayEnds(t *testing.T) {
	s := newPlaybook("50", things(50))
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		var sub *Subscription
		inside := make(chan error, 1)
		ready := make(chan struct{})
		sub = inf.Subscribe(func(ctx context.Context, d Delta) {
			<-ready
			if d.New.Name() == "t7" && d.Kind == Added {
				_, err := sub.Replay(ctx, ReplayOptions{})
				inside <- err
			}
		}, SubscribeOptions{})
		close(ready)
		if err := <-inside; !errors.Is(err, ErrInside) {
			t.Errorf("inside: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10500*time.Millisecond)
		defer cancel()
		if n, err := sub.Replay(ctx, ReplayOptions{PerSecond: 1}); n != 11 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with its context: %d, %v", n, err)
		}
		time.AfterFunc(5500*time.Millisecond, sub.Stop)
		if n, err := sub.Replay(context.Background(), ReplayOptions{PerSecond: 1}); n != 6 || !errors.Is(err, ErrLeft) {
			t.Errorf("with the subscription: %d, %v", n, err)
		}
	})
}
