package cache_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/cache"
)

// popAll pops what waits in a queue, and says what that was.
func popAll(t *testing.T, q cache.Queue) []string {
	t.Helper()
	q.Close()
	var popped []string
	for {
		got, err := q.Pop(func(any, bool) error { return nil })
		if errors.Is(err, cache.ErrFIFOClosed) {
			return popped
		}
		must(t, err)
		popped = append(popped, show(got))
	}
}

func TestDeltaFIFO(t *testing.T) {
	tombstone := func(name string, version int) cache.DeletedFinalStateUnknown {
		return cache.DeletedFinalStateUnknown{Key: "ns/" + name, Obj: pod(name, version)}
	}
	tests := []struct {
		name  string
		known []int // versions of a, b, c, … ; 0: not known
		do    func(*cache.DeltaFIFO) error
		want  []string
	}{
		{"gathers per object, oldest first", nil, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Add(pod("a", 1)), q.Add(pod("b", 2)), q.Update(pod("a", 3)))
		}, []string{"[Added a@1 Updated a@3]", "[Added b@2]"}},
		{"a deletion of what waits", nil, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Add(pod("a", 1)), q.Delete(pod("a", 2)))
		}, []string{"[Added a@1 Deleted a@2]"}},
		{"a deletion of what is known", []int{1}, func(q *cache.DeltaFIFO) error {
			return q.Delete(pod("a", 2))
		}, []string{"[Deleted a@2]"}},
		{"a deletion of what nobody knows", nil, func(q *cache.DeltaFIFO) error {
			return q.Delete(pod("a", 2))
		}, nil},
		{"two deletions: the first is kept", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Delete(pod("a", 2)), q.Delete(pod("a", 3)))
		}, []string{"[Deleted a@2]"}},
		{"two deletions: the one that knows more is kept", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Delete(tombstone("a", 1)), q.Delete(pod("a", 3)))
		}, []string{"[Deleted a@3]"}},
		{"two deletions: a tombstone does not replace an object", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Delete(pod("a", 3)), q.Delete(tombstone("a", 1)))
		}, []string{"[Deleted a@3]"}},
		{"created anew between deletions", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Delete(pod("a", 2)), q.Add(pod("a", 3)), q.Delete(pod("a", 4)))
		}, []string{"[Deleted a@2 Added a@3 Deleted a@4]"}},
		{"a list", []int{1, 2}, func(q *cache.DeltaFIFO) error {
			return q.Replace([]any{pod("b", 3), pod("c", 4)}, "4")
		}, []string{"[Replaced b@3]", "[Replaced c@4]", "[Deleted tombstone(ns/a a@1)]"}},
		{"a list without what waits", nil, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Add(pod("a", 1)), q.Replace(nil, "2"))
		}, []string{"[Added a@1 Deleted tombstone(ns/a a@1)]"}},
		{"a list without what is known, in a newer state that waits", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Update(pod("a", 2)), q.Replace(nil, "3"))
		}, []string{"[Updated a@2 Deleted tombstone(ns/a a@2)]"}},
		{"two lists without what is known", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Replace(nil, "2"), q.Replace(nil, "3"))
		}, []string{"[Deleted tombstone(ns/a a@1)]"}},
		{"a list with what was just deleted", []int{1}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Delete(pod("a", 2)), q.Replace([]any{pod("a", 3)}, "3"))
		}, []string{"[Deleted a@2 Replaced a@3]"}},
		{"a resync leaves out what waits", []int{1, 2}, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Update(pod("b", 3)), q.Resync())
		}, []string{"[Updated b@3]", "[Sync a@1]"}},
		{"put back", nil, func(q *cache.DeltaFIFO) error {
			return q.AddIfNotPresent(cache.Deltas{{Type: cache.Added, Object: pod("a", 1)}})
		}, []string{"[Added a@1]"}},
		{"put back behind something newer: dropped", nil, func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Add(pod("a", 2)), q.AddIfNotPresent(cache.Deltas{{Type: cache.Added, Object: pod("a", 1)}}))
		}, []string{"[Added a@2]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := newKnown()
			for i, version := range test.known {
				must(t, store.Add(pod(string(rune('a'+i)), version)))
			}
			q := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: store, EmitDeltaTypeReplaced: true})
			must(t, test.do(q))
			if diff := cmp.Diff(test.want, popAll(t, q)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDeltaFIFOOfOld: a list is Sync, and without known objects nothing is missed.
func TestDeltaFIFOOfOld(t *testing.T) {
	q := cache.NewDeltaFIFO(cache.MetaNamespaceKeyFunc, nil)
	must(t, q.Add(pod("a", 1)))
	must(t, q.Replace([]any{pod("b", 2)}, "2"))
	must(t, q.Resync())
	want := []string{"[Added a@1 Deleted tombstone(ns/a a@1)]", "[Sync b@2]"}
	if diff := cmp.Diff(want, popAll(t, q)); diff != "" {
		t.Error(diff)
	}
}

func TestDeltaFIFOTransforms(t *testing.T) {
	store := newKnown(pod("a", 1))
	q := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: store, Transformer: transform})
	must(t, q.Add(pod("b", 2)))
	must(t, q.Resync()) // has been transformed
	must(t, q.Replace([]any{pod("c", 3)}, "3"))
	want := []string{
		"[Added b@2 transformed 1 Deleted tombstone(ns/b b@2 transformed 1)]",
		"[Sync a@1 Deleted tombstone(ns/a a@1)]",
		"[Sync c@3 transformed 1]",
	}
	if diff := cmp.Diff(want, popAll(t, q)); diff != "" {
		t.Error(diff)
	}
	if q.Transformer() == nil {
		t.Error("the transform is hidden")
	}
	failing := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{Transformer: func(any) (any, error) { return nil, errors.New("cannot") }})
	if err := failing.Add(pod("a", 1)); err == nil || err.Error() != "cannot" {
		t.Errorf("got %v", err)
	}
}

func TestDeltaFIFOKeys(t *testing.T) {
	q := cache.NewDeltaFIFO(func(obj any) (string, error) {
		if s, ok := obj.(string); ok {
			return s, nil
		}
		return "", errors.New("no string")
	}, nil)
	for obj, want := range map[string]any{
		"plain": "plain",
		"gone":  cache.DeletedFinalStateUnknown{Key: "gone"},
		"newer": cache.Deltas{{Object: "older"}, {Object: "newer"}},
		"late":  cache.Deltas{{Object: cache.DeletedFinalStateUnknown{Key: "late"}}},
	} {
		if got, err := q.KeyOf(want); got != obj || err != nil {
			t.Errorf("key of %v: %q, %v", want, got, err)
		}
	}
	_, err := q.KeyOf(cache.Deltas{})
	if !errors.Is(err, cache.ErrZeroLengthDeltasObject) {
		t.Errorf("empty Deltas: %v", err)
	}
	for call, err := range map[string]error{
		"Add": q.Add(1), "Update": q.Update(1), "Delete": q.Delete(1), "Replace": q.Replace([]any{1}, ""),
	} {
		var keyError cache.KeyError
		if !errors.As(err, &keyError) || keyError.Obj != 1 {
			t.Errorf("%s: %v", call, err)
		}
	}
	if q.AddIfNotPresent("no Deltas") == nil {
		t.Error("what was never popped was put back")
	}
}

func TestDeltaFIFOHasSynced(t *testing.T) {
	list := []any{pod("a", 1), pod("b", 2)}
	tests := []struct {
		name string
		do   func(*cache.DeltaFIFO) error
		want []bool // before the first pop, after each
	}{
		{"nothing came", func(*cache.DeltaFIFO) error { return nil }, []bool{false}},
		{"an object came first", func(q *cache.DeltaFIFO) error { return q.Add(pod("a", 1)) }, []bool{true, true}},
		{"a deletion came first", func(q *cache.DeltaFIFO) error { return q.Delete(pod("a", 1)) }, []bool{true}},
		{"an empty list", func(q *cache.DeltaFIFO) error { return q.Replace(nil, "0") }, []bool{true}},
		{"a list", func(q *cache.DeltaFIFO) error { return q.Replace(list, "2") }, []bool{false, false, true}},
		{"a list, and more", func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Replace(list, "2"), q.Add(pod("c", 3)))
		}, []bool{false, false, true, true}},
		{"a list, and what it lacks", func(q *cache.DeltaFIFO) error {
			return errors.Join(q.Replace(list, "2"), q.Replace(list[:1], "3"))
		}, []bool{false, false, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := cache.NewDeltaFIFO(cache.MetaNamespaceKeyFunc, newKnown())
			must(t, test.do(q))
			got := []bool{q.HasSynced()}
			for range len(test.want) - 1 {
				_, err := q.Pop(func(_ any, initial bool) error {
					if initial == got[len(got)-1] {
						t.Errorf("pop %d: initial=%t", len(got), initial)
					}
					return nil
				})
				must(t, err)
				got = append(got, q.HasSynced())
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if checker := q.HasSyncedChecker(); cache.IsDone(checker) != q.HasSynced() || checker.Name() != "DeltaFIFO" {
				t.Errorf("the checker %s disagrees", checker.Name())
			}
		})
	}
}

func TestDeltaFIFORequeues(t *testing.T) {
	q := cache.NewDeltaFIFO(cache.MetaNamespaceKeyFunc, nil)
	must(t, q.Add(pod("a", 1)))
	must(t, q.Add(pod("b", 2)))
	reason := errors.New("not now")
	_, err := q.Pop(func(any, bool) error { return cache.ErrRequeue{Err: reason} })
	if err != reason {
		t.Errorf("Pop returned %v", err)
	}
	if _, err := q.Pop(func(any, bool) error { return reason }); err != reason {
		t.Errorf("Pop returned %v", err)
	}
	if diff := cmp.Diff([]string{"[Added a@1]"}, popAll(t, q)); diff != "" {
		t.Error(diff)
	}
	if (cache.ErrRequeue{}).Error() == "" || (cache.ErrRequeue{Err: reason}).Error() != "not now" {
		t.Error("the error has no words")
	}
}

func TestPopWaits(t *testing.T) {
	queues := map[string]func() cache.Queue{
		"DeltaFIFO": func() cache.Queue { return cache.NewDeltaFIFO(nil, nil) },
		"RealFIFO":  func() cache.Queue { return cache.NewRealFIFO(nil, newKnown(), nil) },
	}
	for name, newQueue := range queues {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				var popped []string
				var ended error
				go func() {
					for ended == nil {
						var got any
						got, ended = q.Pop(func(any, bool) error { return nil })
						popped = append(popped, show(got))
					}
				}()
				synctest.Wait()
				must(t, q.Add(pod("a", 1)))
				synctest.Wait()
				if closed := q.(interface{ IsClosed() bool }); len(popped) != 1 || closed.IsClosed() {
					t.Fatalf("popped %v", popped)
				}
				q.Close()
				synctest.Wait()
				if !errors.Is(ended, cache.ErrFIFOClosed) || !q.(interface{ IsClosed() bool }).IsClosed() {
					t.Errorf("ended with %v", ended)
				}
			})
		})
	}
}

// TestQueuesComplainOfSlowHandlers, but only when others wait.
func TestQueuesComplainOfSlowHandlers(t *testing.T) {
	for name, newQueue := range map[string]func(*logr.Logger) cache.Queue{
		"DeltaFIFO": func(log *logr.Logger) cache.Queue {
			return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{Logger: log})
		},
		"RealFIFO": func(log *logr.Logger) cache.Queue {
			return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{Logger: log, AtomicEvents: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				complaints := 0
				log := funcr.New(func(prefix, args string) {
					complaints++
					if prefix != name || !strings.Contains(args, `"key"="ns/p0"`) || !strings.Contains(args, `"depth"=11`) {
						t.Errorf("it says %s %s", prefix, args)
					}
				}, funcr.Options{})
				q := newQueue(&log)
				for i := range 12 {
					must(t, q.Add(pod(fmt.Sprintf("p%d", i), i)))
				}
				slowly := func(any, bool) error { time.Sleep(time.Second); return nil }
				for range 12 {
					_, err := q.Pop(slowly)
					must(t, err)
				}
				if complaints != 1 {
					t.Errorf("%d complaints", complaints)
				}
			})
		})
	}
}
