// Package dropintest helps tests to hold kinform's informers against client-go's
// on one server: wait for both, and compare what they have, field by field. Only
// tests may import it.
package dropintest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/cache"
)

// Context returns a context that ends with the test, or after a time that no
// healthy test gets near.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Await waits until an informer's store is as wanted. It looks at each event.
func Await(t testing.TB, informer cache.SharedIndexInformer, what string, ok func(cache.Indexer) bool) {
	t.Helper()
	bell := make(chan struct{}, 1)
	ring := func() {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { ring() },
		UpdateFunc: func(any, any) { ring() },
		DeleteFunc: func(any) { ring() },
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
	defer func() {
		if err := informer.RemoveEventHandler(handle); err != nil {
			t.Error(err)
		}
	}()
	ctx := Context(t)
	for !ok(informer.GetIndexer()) {
		select {
		case <-bell:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: the store has %q", what, informer.GetIndexer().ListKeys())
		}
	}
}

// Count is a wish for Await: so many objects.
func Count(n int) func(cache.Indexer) bool {
	return func(i cache.Indexer) bool { return len(i.ListKeys()) == n }
}

// Same waits until both stores have n objects, and compares them. Client-go's is
// what is needed.
func Same(t testing.TB, theirs, ours cache.SharedIndexInformer, n int) {
	t.Helper()
	Await(t, theirs, "client-go's informer", Count(n))
	Await(t, ours, "kinform's informer", Count(n))
	Compare(t, theirs.GetIndexer(), ours.GetIndexer())
}

// Compare compares two stores: keys, objects, indexes. Objects may differ in what
// the options say; nil and empty differ.
func Compare(t testing.TB, theirs, ours cache.Indexer, but ...cmp.Option) {
	t.Helper()
	want, got := sorted(theirs.ListKeys()), sorted(ours.ListKeys())
	if !slices.Equal(want, got) {
		t.Errorf("kinform has the keys %q, client-go %q", got, want)
		return
	}
	for _, key := range want {
		their, _, _ := theirs.GetByKey(key)
		our, ok, err := ours.GetByKey(key)
		if !ok || err != nil {
			t.Errorf("kinform does not give %s: %v", key, err)
			continue
		}
		if diff := cmp.Diff(their, our, but...); diff != "" {
			t.Errorf("%s: - client-go, + kinform:\n%s", key, diff)
		}
	}
	compareIndexes(t, theirs, ours)
}

func compareIndexes(t testing.TB, theirs, ours cache.Indexer) {
	t.Helper()
	for name := range theirs.GetIndexers() {
		values := sorted(theirs.ListIndexFuncValues(name))
		if got := sorted(ours.ListIndexFuncValues(name)); !slices.Equal(values, got) {
			t.Errorf("index %s: kinform has the values %q, client-go %q", name, got, values)
		}
		for _, v := range values {
			want, _ := theirs.IndexKeys(name, v)
			got, err := ours.IndexKeys(name, v)
			if err != nil || !slices.Equal(sorted(want), sorted(got)) {
				t.Errorf("index %s of %q: kinform has %q (%v), client-go %q", name, v, got, err, want)
			}
		}
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// Has is a wish for Await: an object with a key.
func Has(key string) func(cache.Indexer) bool {
	return func(i cache.Indexer) bool {
		_, ok, _ := i.GetByKey(key)
		return ok
	}
}
