package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// byLabel indexes pods by the values of a label, which are separated by dots.
func byLabel(label string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, errors.New("no pod")
		}
		value, ok := p.Labels[label]
		if !ok {
			return nil, nil
		}
		return strings.Split(value, "."), nil
	}
}

// storeState is everything that can be read from a store.
func storeState(s cache.ThreadSafeStore) map[string]any {
	state := map[string]any{
		"keys":     slices.Sorted(slices.Values(s.ListKeys())),
		"objects":  sorted(s.List()),
		"version":  s.LastStoreSyncResourceVersion(),
		"indexers": slices.Sorted(maps.Keys(s.GetIndexers())),
	}
	for _, index := range []string{"color", "size", "nowhere"} {
		values := slices.Sorted(slices.Values(s.ListIndexFuncValues(index)))
		state[index] = values
		for _, value := range append(values, "no such value") {
			objs, err := s.ByIndex(index, value)
			keys, keysErr := s.IndexKeys(index, value)
			state[index+"/"+value] = fmt.Sprint(sorted(objs), err, keys, keysErr)
		}
		for _, labels := range [][]string{{"color", "red"}, {"color", "red.blue", "size", "1"}, {}} {
			like := pod("like", 0, labels...)
			objs, err := s.Index(index, like)
			state[fmt.Sprintf("%s like %v", index, labels)] = fmt.Sprint(sorted(objs), err)
		}
		_, err := s.Index(index, "no pod")
		state[index+" like no pod"] = fmt.Sprint(err)
	}
	return state
}

func sorted(objs []any) []string {
	shown := make([]string, len(objs))
	for i, obj := range objs {
		shown[i] = show(obj)
	}
	slices.Sort(shown)
	return shown
}

func TestThreadSafeStoreBehavesAsClientGos(t *testing.T) {
	forSeeds(t, 40, func(t *testing.T, random *rand.Rand) {
		theirs := clientgo.NewThreadSafeStore(cache.Indexers{"color": byLabel("color")}, cache.Indices{})
		ours := cache.NewThreadSafeStore(cache.Indexers{"color": byLabel("color")}, cache.Indices{})
		var script []string
		both := func(what string, do func(cache.ThreadSafeStore) error) {
			their, our := do(theirs), do(ours)
			script = append(script, what)
			if (their == nil) != (our == nil) {
				t.Fatalf("%s: client-go says %v, kinform %v", what, their, our)
			}
			if diff := cmp.Diff(storeState(theirs), storeState(ours)); diff != "" {
				t.Fatalf("after %s, client-go's (-) and kinform's (+) differ:\n%s", strings.Join(script, ", "), diff)
			}
		}
		plain := func(do func(cache.ThreadSafeStore)) func(cache.ThreadSafeStore) error {
			return func(s cache.ThreadSafeStore) error { do(s); return nil }
		}
		for i := range 60 {
			p := randomLabelled(random, i)
			switch random.IntN(10) {
			case 0, 1, 2:
				both("add "+show(p), plain(func(s cache.ThreadSafeStore) { s.Add(p.Name, p) }))
			case 3, 4:
				both("update "+show(p), plain(func(s cache.ThreadSafeStore) { s.Update(p.Name, p) }))
			case 5:
				both("delete "+show(p), plain(func(s cache.ThreadSafeStore) { s.Delete(p.Name) }))
			case 6:
				both("delete with object "+show(p), plain(func(s cache.ThreadSafeStore) { s.DeleteWithObject(p.Name, p) }))
			case 7:
				items := map[string]any{}
				for range random.IntN(6) {
					p := randomLabelled(random, i)
					items[p.Name] = p
				}
				both(fmt.Sprint("replace with ", len(items)), plain(func(s cache.ThreadSafeStore) { s.Replace(maps.Clone(items), fmt.Sprint(i)) }))
			case 8:
				txns := randomTransaction(random, i)
				both(fmt.Sprint("transaction of ", len(txns)), plain(func(s cache.ThreadSafeStore) {
					s.(cache.ThreadSafeStoreWithTransaction).Transaction(txns...)
				}))
			case 9:
				if random.IntN(3) == 0 {
					both("bookmark", plain(func(s cache.ThreadSafeStore) { s.Bookmark(fmt.Sprint(i)) }))
				} else {
					added := cache.Indexers{"size": byLabel("size")}
					both("add indexers", func(s cache.ThreadSafeStore) error { return s.AddIndexers(added) })
				}
			}
		}
	})
}

func randomLabelled(random *rand.Rand, version int) *corev1.Pod {
	var labels []string
	if n := random.IntN(4); n > 0 {
		labels = append(labels, "color", []string{"", "red", "blue", "red.blue"}[n])
	}
	if n := random.IntN(3); n > 0 {
		labels = append(labels, "size", fmt.Sprint(n))
	}
	return pod(string(rune('a'+random.IntN(6))), version, labels...)
}

func randomTransaction(random *rand.Rand, version int) []cache.ThreadSafeStoreTransaction {
	txns := make([]cache.ThreadSafeStoreTransaction, random.IntN(4))
	types := []cache.TransactionType{cache.TransactionTypeAdd, cache.TransactionTypeUpdate, cache.TransactionTypeDelete}
	for i := range txns {
		p := randomLabelled(random, version)
		txns[i] = cache.ThreadSafeStoreTransaction{Key: p.Name, Transaction: cache.Transaction{Object: p, Type: types[random.IntN(3)]}}
	}
	return txns
}
