package cache_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/cache"
)

func TestRealFIFORefusesContradictions(t *testing.T) {
	for name, opts := range map[string]cache.RealFIFOOptions{
		"atomic with known objects":        {AtomicEvents: true, KnownObjects: newKnown()},
		"neither atomic nor known objects": {},
		"unlocked and not atomic":          {KnownObjects: newKnown(), UnlockWhileProcessing: true},
		"bookmarks and not atomic":         {KnownObjects: newKnown(), EmitDeltaTypeBookmark: true},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			cache.NewRealFIFOWithOptions(opts)
		})
	}
}

func TestRealFIFOKeepsEachChange(t *testing.T) {
	q := cache.NewRealFIFO(nil, newKnown(pod("a", 1), pod("b", 2)), nil)
	must(t, q.Add(pod("c", 3)))
	must(t, q.Update(pod("c", 4)))
	must(t, q.Delete(pod("b", 5)))
	must(t, q.Replace([]any{pod("d", 6)}, "6"))
	must(t, q.Resync())
	want := []string{
		"[Added c@3]", "[Updated c@4]", "[Deleted b@5]",
		"[Deleted tombstone(ns/c c@4)]", "[Deleted tombstone(ns/a a@1)]", "[Replaced d@6]",
	}
	if diff := cmp.Diff(want, popAll(t, q)); diff != "" {
		t.Error(diff)
	}
}

func TestRealFIFOAtomic(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true, Transformer: transform})
	must(t, q.Replace([]any{pod("a", 1), pod("b", 2)}, "2"))
	must(t, q.Update(pod("a", 3)))
	must(t, q.Bookmark("4"))
	must(t, q.Resync())
	want := []string{
		"[ReplacedAll [a@1 transformed 1 b@2 transformed 1] at 2]",
		"[Updated a@3 transformed 1]", "[Bookmark at 4]", "[SyncAll all]",
	}
	if diff := cmp.Diff(want, popAll(t, q)); diff != "" {
		t.Error(diff)
	}
	plain := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
	must(t, plain.Bookmark("1"))
	if popped := popAll(t, plain); popped != nil {
		t.Errorf("a bookmark that nobody asked for: %v", popped)
	}
}

// TestRealFIFOSyncsWhenProcessed: until the first list has been processed, not
// only popped, it is not synced.
func TestRealFIFOSyncsWhenProcessed(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
	must(t, q.Replace([]any{pod("a", 1)}, "1"))
	_, err := q.Pop(func(_ any, initial bool) error {
		if !initial || q.HasSynced() {
			t.Errorf("while processing: initial=%t synced=%t", initial, q.HasSynced())
		}
		return q.Add(pod("b", 2)) // which it can, as it is not locked
	})
	must(t, err)
	if !q.HasSynced() || !cache.IsDone(q.HasSyncedChecker()) {
		t.Error("not synced after processing")
	}
}

func TestRealFIFOBatches(t *testing.T) {
	many := make([]any, 1500)
	for i := range many {
		many[i] = pod(fmt.Sprintf("p%d", i), i)
	}
	tests := []struct {
		name   string
		atomic bool
		do     func(*cache.RealFIFO) error
		want   []string // sizes of batches, or the item
	}{
		{"different objects", false, func(q *cache.RealFIFO) error {
			return errors.Join(q.Add(pod("a", 1)), q.Update(pod("b", 2)), q.Delete(pod("c", 3)))
		}, []string{"batch of 3 initial=false"}},
		{"an object again", false, func(q *cache.RealFIFO) error {
			return errors.Join(q.Add(pod("a", 1)), q.Add(pod("b", 2)), q.Update(pod("a", 3)), q.Add(pod("c", 4)))
		}, []string{"batch of 2 initial=false", "batch of 2 initial=false"}},
		{"the first list and more", false, func(q *cache.RealFIFO) error {
			return errors.Join(q.Replace([]any{pod("a", 1), pod("b", 2)}, "2"), q.Add(pod("c", 3)), q.Add(pod("d", 4)))
		}, []string{"batch of 2 initial=true", "batch of 2 initial=false"}},
		{"more than a batch", false, func(q *cache.RealFIFO) error { return q.Replace(many, "0") },
			[]string{"batch of 1000 initial=true", "batch of 500 initial=true"}},
		{"what concerns all", true, func(q *cache.RealFIFO) error {
			return errors.Join(q.Replace(many[:2], "2"), q.Add(pod("a", 1)), q.Add(pod("b", 1)), q.Resync(), q.Add(pod("c", 4)))
		}, []string{"[ReplacedAll [p0@0 p1@1] at 2] initial=true", "batch of 2 initial=false", "[SyncAll all] initial=false", "[Added c@4] initial=false"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opts := cache.RealFIFOOptions{AtomicEvents: test.atomic}
			if !test.atomic {
				opts.KnownObjects = newKnown()
			}
			q := cache.NewRealFIFOWithOptions(opts)
			must(t, test.do(q))
			q.Close()
			var got []string
			batch := func(deltas []cache.Delta, initial bool) error {
				got = append(got, fmt.Sprintf("batch of %d initial=%t", len(deltas), initial))
				return nil
			}
			single := func(obj any, initial bool) error {
				got = append(got, fmt.Sprintf("%s initial=%t", show(obj), initial))
				return nil
			}
			for {
				err := q.PopBatch(batch, single)
				if errors.Is(err, cache.ErrFIFOClosed) {
					break
				}
				must(t, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
