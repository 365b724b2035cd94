package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/wire"
)

// What happens where features meet: scopes that change while something else goes on.

// reselected is an informer's new source, after its selectors have changed.
func reselected(inf *Informer, version string, items map[string]string) *playbook {
	s := newPlaybook(version, items)
	s.events = make(chan Event, 10)
	inf.SetScope(Scope{Sources: map[string]Source{"": s}, Reselects: true})
	return s
}

// TestVerifyWhileSelectorsChange: what has come is compared, too.
func TestVerifyWhileSelectorsChange(t *testing.T) {
	s := newPlaybook("10", seeds)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.set("20", map[string]string{"a": "u1@15"})
		v := verifies(t, inf)
		v.wantOpen()
		reselected(inf, "30", map[string]string{"a": "u1@15", "z": "u9@12"})
		<-v.done
		if len(v.errs) != 0 || v.report.Objects != 2 || inf.Status()[0].Verified.IsZero() {
			t.Errorf("Verify says %v, %v", v.report, v.errs)
		}
	})
}

// TestVerifyWhatLeaves: what the scope has left does not differ.
func TestVerifyWhatLeaves(t *testing.T) {
	items := map[string]string{"a": "u1@p", "b": "u2@q"}
	s := newPlaybook("x", items)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		hold, asked := make(chan struct{}), make(chan struct{}, 1)
		var once sync.Once
		s.mu.Lock()
		s.list = func(ListOptions) (ListStream, error) {
			once.Do(func() {
				asked <- struct{}{}
				<-hold
			})
			return answer("x", items), nil
		}
		s.mu.Unlock()
		v := verifies(t, inf)
		<-asked
		inf.SetScope(Scope{})
		close(hold)
		v.want(VerifyReport{})
	})
}

// synced runs an informer until it has listed.
func synced(t *testing.T) (inf *Informer, stop func()) {
	t.Helper()
	s := newPlaybook("10", seeds)
	s.events = make(chan Event, 10)
	inf = NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": s})
	stop = playing(t, inf)
	synctest.Wait()
	return inf, stop
}

// TestClearAfterSelectorsChanged: what was not listed again yet goes, too.
func TestClearAfterSelectorsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf, stop := synced(t)
		inf.SetScope(Scope{Sources: map[string]Source{"": &mute{newPlaybook("30", nil)}}, Reselects: true})
		synctest.Wait()
		stop()
		if err := inf.Clear(); err != nil {
			t.Fatal(err)
		}
		if n := inf.Len(); n != 0 {
			t.Errorf("%d objects after Clear", n)
		}
	})
}

// TestScopeOfUnconfirmed: where only changes are heard, what is still selected stays when
// selectors change before the server has confirmed it, and the list says what has changed.
func TestScopeOfUnconfirmed(t *testing.T) {
	for _, c := range []struct {
		only  bool
		heard string
	}{{true, "added c@71, deleted a@61, updated b@70"}, {false, "added b@70, added c@71"}} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			before(t, dir)
			o := onDisk(dir, ReflectorOptions{Snapshot: SnapshotOptions{OnlyChanges: c.only}})
			run(t, newPlaybook("75", onFile), o, func(inf *Informer, h *heard) {
				if !inf.Status()[0].Snapshot.Unconfirmed {
					t.Fatal("it is confirmed")
				}
				reselected(inf, "76", map[string]string{"b": "u2@70", "c": "u3@71"})
				synctest.Wait()
				if got := h.sorted(); got != c.heard || !inf.HasSynced() {
					t.Errorf("only changes %v: heard %q, want %q; synced %v", c.only, got, c.heard, inf.HasSynced())
				}
			})
		})
	}
}

// TestFloorDoesNotSink: of the versions that were reached since the history went back, the
// highest counts, in whichever order reflectors end.
func TestFloorDoesNotSink(t *testing.T) {
	at := func(version string) *Reflector {
		r := &Reflector{part: newPartition("")}
		r.part.reach(ParseVersion(version))
		return r
	}
	for _, ended := range [][]*Reflector{{at("50"), at("60")}, {at("60"), at("50")}} {
		c := &Collection{}
		c.raiseFloor([]*Reflector{at("900")})
		if v := c.raiseFloor(ended); v.String() != "900" {
			t.Errorf("the floor sank to %s", v)
		}
		c.wentBack()
		c.raiseFloor(ended)
		if v := c.raiseFloor([]*Reflector{at("55")}); v.String() != "60" || c.Epochs() != 1 {
			t.Errorf("the floor is %s, want 60; %d epochs", v, c.Epochs())
		}
	}
}

// TestClearEndsWaits: who waits for an informer that is given up hears of it, whatever for,
// and so does who asks later. It has not synced any more, and does not run again.
func TestClearEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf, stop := synced(t)
		far := ParseVersion("1000")
		waits := map[string]func() error{
			"version": func() error { return inf.WaitFor(t.Context(), far) },
			"object":  func() error { return inf.WaitForObject(t.Context(), Object{Namespace: "ns", Name: "z"}, far) },
			"deletion": func() error {
				_, err := inf.WaitForDeleted(t.Context(), Object{Namespace: "ns", Name: "a"}, far)
				return err
			},
		}
		later := map[string]func() error{
			"catch up": func() error { _, err := inf.CatchUp(t.Context()); return err },
			"sync":     func() error { return inf.WaitSynced(t.Context()) },
			"sync in":  func() error { return inf.WaitSyncedIn(t.Context(), "ns") },
			"run":      func() error { return inf.Run(t.Context()) },
		}
		stop()
		results := map[string]chan error{}
		for name, wait := range waits {
			results[name] = make(chan error, 1)
			go func(result chan<- error) { result <- wait() }(results[name])
			later[name+" again"] = wait
		}
		synctest.Wait()
		for range 2 {
			if err := inf.Clear(); err != nil {
				t.Fatal(err)
			}
		}
		for name, r := range results {
			if err := <-r; !errors.Is(err, ErrEnded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, wait := range later {
			if err := wait(); !errors.Is(err, ErrEnded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if inf.HasSynced() {
			t.Error("it has synced")
		}
	})
}

// mute is a source that never answers.
type mute struct{ *playbook }

func (m *mute) List(ctx context.Context, _ ListOptions) (ListStream, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDeletionAwaitedInWhatLeaves: a part that has left the scope proves nothing.
func TestDeletionAwaitedInWhatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("10", seeds)
		s.events = make(chan Event, 10)
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"ns": s})
		defer playing(t, inf)()
		synctest.Wait()
		var reached Version
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			reached, err = inf.WaitForDeleted(t.Context(), Object{Namespace: "ns", Name: "a", UID: "u1"}, ParseVersion("10"))
		}()
		synctest.Wait()
		inf.SetScope(Scope{})
		<-done
		if err != nil || !reached.IsZero() {
			t.Errorf("reached %q, %v", reached, err)
		}
	})
}

// objectsSource is a source of objects.
type objectsSource struct{ *playbook }

func (objectsSource) ListsWhole() {}

// TestObjectsAreTrustedInNewScopes: where a watch goes on in several namespaces, the order
// of its versions is known in each.
func TestObjectsAreTrustedInNewScopes(t *testing.T) {
	item := func(ns, name string, version int) Item {
		o := sentThing(name, version, 0)
		o.Namespace = ns
		return Item{Object: o}
	}
	source := func(items ...Item) objectsSource {
		s := newPlaybook("10", nil)
		s.events = make(chan Event, 10)
		s.list = func(ListOptions) (ListStream, error) {
			return &scriptList{version: "10", items: append([]Item(nil), items...)}, nil
		}
		return objectsSource{s}
	}
	synctest.Test(t, func(t *testing.T) {
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": source(item("a", "x", 5), item("b", "y", 6))})
		defer playing(t, inf)()
		synctest.Wait()
		a, b := source(item("a", "x", 5)), source(item("b", "y", 6))
		inf.SetScope(Scope{Sources: map[string]Source{"a": a, "b": b}})
		synctest.Wait()
		a.events <- Event{Type: wire.Modified, Item: item("a", "x", 12)}
		b.events <- Event{Type: wire.Modified, Item: item("b", "y", 12)}
		synctest.Wait()
		if err := inf.WaitFor(t.Context(), ParseVersion("12")); err != nil {
			t.Error(err)
		}
	})
}

// TestReplayOfWhatCame: a replay takes as long as it was asked to, also where the scope
// grows, and what it delivers has not waited for long.
func TestReplayOfWhatCame(t *testing.T) {
	s := newPlaybook("10", map[string]string{"a": "u1@1"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		sub := inf.Subscribe(func(_ context.Context, d Delta) {
			if d.Kind == Resynced && d.stamp == 0 {
				t.Errorf("%s is replayed without the time when it came", d.New.Name())
			}
		}, SubscribeOptions{})
		synctest.Wait()
		began, done := time.Now(), make(chan error)
		go func() {
			_, err := sub.Replay(context.Background(), ReplayOptions{Over: time.Minute})
			done <- err
		}()
		synctest.Wait()
		reselected(inf, "600", things(500))
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("a minute took %v", took)
		}
	})
}

// TestCountersStay: what was counted before the selectors changed is counted.
func TestCountersStay(t *testing.T) {
	s := newPlaybook("10", seeds)
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		s.sends(modified("a", "u1@15"))
		synctest.Wait()
		before := inf.Status()[0]
		reselected(inf, "30", seeds)
		synctest.Wait()
		after := inf.Status()[0]
		sum := uint64(0)
		for _, n := range after.ListsBy {
			sum += n
		}
		if sum != after.Lists || after.ListsBy[""] != 0 || after.Events < before.Events {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
	})
}

// TestEverythingAtOnce: scopes that change by handlers and others, with comparisons,
// replays and waits, and the end of it: nobody is left behind.
func TestEverythingAtOnce(t *testing.T) {
	source := func() *playbook {
		s := newPlaybook("10", seeds)
		s.events = make(chan Event, 10)
		return s
	}
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": source()})
			heard := newAudience(t)
			n := 0
			heard.each = func(Delta) {
				switch n++; {
				case n >= 40:
				case n%2 == 0:
					inf.SetScope(Scope{Sources: map[string]Source{"": source()}, Reselects: n%3 == 0})
				default:
					inf.SetScope(Scope{})
				}
			}
			sub := inf.Subscribe(heard.hear, SubscribeOptions{})
			stop := playing(t, inf)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { _, _ = inf.Verify(ctx) })
				all.Go(func() { _, _ = sub.Replay(ctx, ReplayOptions{}) })
				all.Go(func() { _ = inf.WaitFor(ctx, ParseVersion("99")) })
				all.Go(func() { _, _ = inf.CatchUp(ctx) })
				all.Go(func() { inf.History() })
				all.Go(func() {
					for i := range 10 {
						inf.SetScope(Scope{Sources: map[string]Source{"ns": source()}, Reselects: i%2 == 0})
					}
				})
			}
			synctest.Wait()
			cancel()
			all.Wait()
			stop()
		})
	}
}
