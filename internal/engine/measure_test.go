package engine

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

// runModel runs an informer of a model's in a bubble until the end of the test.
func runModel(t *testing.T, inf *Informer) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// TestMeasuredHandler has a handler take a second for each of three changes that come at
// once, and looks at its status while it does.
func TestMeasuredHandler(t *testing.T) {
	for name, merge := range map[string]Merge{"every": Every, "latest": Latest} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
				inf.Measure()
				sub := inf.Subscribe(func(_ context.Context, d Delta) {
					<-time.After(time.Second) // in a bubble
					if d.New.Name() == "b" {
						panic("in the middle")
					}
				}, SubscribeOptions{Merge: merge})
				runModel(t, inf)
				synctest.Wait()
				if lag := sub.Status().Lag; lag != 0 {
					t.Errorf("nothing happened, and the lag is %v", lag)
				}
				for _, name := range []string{"a", "b", "c"} {
					m.put(name, "red")
				}
				for _, want := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond} {
					<-time.After(want - sub.Status().Lag)
					synctest.Wait()
					if lag := sub.Status().Lag; lag != want {
						t.Errorf("the lag is %v, want %v", lag, want)
					}
				}
				<-time.After(time.Second)
				synctest.Wait()
				st := sub.Status()
				if st.Lag != 0 || st.Panics != 1 {
					t.Errorf("at the end the lag is %v, after %d panics", st.Lag, st.Panics)
				}
				// Two calls of a second; the one in the middle has panicked.
				if st.Took.Sum != 2*time.Second || st.Took.Counts[4] != 2 {
					t.Errorf("calls took %v", st.Took)
				}
				// The first began at once, the others after one and two seconds.
				if st.Late.Sum != 3*time.Second || st.Late.Counts[0] != 1 || st.Late.Counts[3] != 1 || st.Late.Counts[4] != 1 {
					t.Errorf("calls were late by %v", st.Late)
				}
			})
		})
	}
}

// TestLagOfAQueue: also where nothing is measured, it is known how long the first change
// has waited, and merging does not make it younger.
func TestLagOfAQueue(t *testing.T) {
	for name, merge := range map[string]Merge{"every": Every, "latest": Latest} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, parts := NewCollection(Options{}, "")
				sub := c.Subscribe(func(context.Context, Delta) {}, SubscribeOptions{Merge: merge, Limit: 1})
				c.Replace(parts[0], List{Records: []*Record{{key: "a", number: 1}}})
				for sub.queue.take() != nil {
				}
				if lag := sub.Status().Lag; lag != 0 {
					t.Errorf("the lag is %v, and nothing waits", lag)
				}
				for number := range uint64(3) {
					c.Apply([]Change{{Record: &Record{key: "a", number: 2 + number}, Gone: number == 2}})
					<-time.After(time.Minute)
				}
				if lag := sub.Status().Lag; lag != 3*time.Minute {
					t.Errorf("the lag is %v, want three minutes", lag)
				}
				if n := sub.Status().Waiting; n == 3 {
					t.Error("nothing was merged")
				}
				if st := sub.Status(); len(st.Took.Counts) == 0 || st.Took.Sum != 0 {
					t.Errorf("it was measured: %v", st.Took)
				}
			})
		})
	}
}

// TestReadsAreCounted counts what finds an object decoded, and what does not.
func TestReadsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.put("a", "red")
		m.put("b", "red")
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
		view := &View{Name: "view", Decode: func(r *Record, _ Neighbour) (any, error) { return r.Key(), nil }}
		runModel(t, inf)
		synctest.Wait()
		read := func() {
			if obj, err := inf.Object("ns/a", view); obj != "ns/a" || err != nil {
				t.Fatal(obj, err)
			}
		}
		read()
		if hits, misses := inf.Reads(); hits+misses != 0 {
			t.Errorf("before it is measured, %d hits and %d misses", hits, misses)
		}
		inf.Measure()
		read()
		inf.Objects(view) // a is decoded, b is not
		inf.Objects(view)
		if hits, misses := inf.Reads(); hits != 4 || misses != 1 {
			t.Errorf("%d hits and %d misses, want 4 and 1", hits, misses)
		}
	})
}

// TestStatusCounts has a watch end in different ways, and wants to see why what was listed
// was, and what came.
func TestStatusCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.put("a", "red")
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
		began := time.Now()
		m.setDown(true)
		runModel(t, inf)
		synctest.Wait()
		m.setDown(false)
		if err := inf.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		took := time.Since(began)
		m.put("a", "blue")
		m.bookmark()
		synctest.Wait()
		s := inf.Status()[0]
		if s.SyncTook != took || took == 0 {
			t.Errorf("the first list took %v, want %v", s.SyncTook, took)
		}
		if s.Events != 1 || s.Bookmarks != 1 || s.WatchedSince.IsZero() || s.Reconnects != 0 {
			t.Errorf("%d events, %d bookmarks, watched since %v, %d reconnects", s.Events, s.Bookmarks, s.WatchedSince, s.Reconnects)
		}
		m.cut()
		<-time.After(time.Minute)
		synctest.Wait()
		m.setDown(true)
		m.put("a", "green")
		m.compact()
		m.setDown(false) // before it is tried a second time
		<-time.After(time.Minute)
		synctest.Wait()
		s = inf.Status()[0]
		if s.Reconnects == 0 || s.Expired != 1 {
			t.Errorf("%d reconnects, %d expired", s.Reconnects, s.Expired)
		}
		if s.ListsBy[First] != 1 || s.ListsBy[Failed] == 0 || s.ListsBy[Forgotten] == 0 {
			t.Errorf("lists by cause: %v", s.ListsBy)
		}
		var sum uint64
		for n := range maps.Values(s.ListsBy) {
			sum += n
		}
		if sum != s.Lists {
			t.Errorf("%d lists, by cause %v", s.Lists, s.ListsBy)
		}
		if len(s.Failures) == 0 {
			t.Error("no failure was counted by its reason")
		}
	})
}
