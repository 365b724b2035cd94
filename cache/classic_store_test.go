package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/cache"
)

// must fails the test on an error of a call that is not expected to have one.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantObjects(t *testing.T, got []any, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, sorted(got)); diff != "" && len(want)+len(got) > 0 {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestStoreKeepsTheLastState(t *testing.T) {
	s := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	must(t, s.Add(pod("a", 1)))
	must(t, s.Add(pod("a", 2)))
	must(t, s.Update(pod("b", 3)))
	wantObjects(t, s.List(), "a@2", "b@3")

	got, exists, err := s.Get(pod("a", 99))
	if show(got) != "a@2" || !exists || err != nil {
		t.Errorf("Get: %s, %t, %v", show(got), exists, err)
	}
	got, exists, err = s.GetByKey("ns/none")
	if got != nil || exists || err != nil {
		t.Errorf("GetByKey of nothing: %s, %t, %v", show(got), exists, err)
	}

	must(t, s.Delete(cache.DeletedFinalStateUnknown{Key: "ns/a"}))
	must(t, s.Delete(pod("a", 4)))
	must(t, s.Resync())
	wantObjects(t, s.List(), "b@3")

	must(t, s.Replace([]any{pod("c", 5), pod("d", 6)}, "6"))
	wantObjects(t, s.List(), "c@5", "d@6")
	if keys := slices.Sorted(slices.Values(s.ListKeys())); !slices.Equal(keys, []string{"ns/c", "ns/d"}) {
		t.Errorf("keys: %v", keys)
	}
}

func TestStoreRefusesObjectsWithoutKey(t *testing.T) {
	unkeyed := errors.New("no key")
	s := cache.NewStore(func(obj any) (string, error) {
		if obj == "bad" {
			return "", unkeyed
		}
		return obj.(string), nil
	})
	must(t, s.Add("good"))
	_, _, getErr := s.Get("bad")
	for call, err := range map[string]error{
		"Add":     s.Add("bad"),
		"Update":  s.Update("bad"),
		"Delete":  s.Delete("bad"),
		"Get":     getErr,
		"Replace": s.Replace([]any{"other", "bad"}, ""),
	} {
		var keyError cache.KeyError
		if !errors.As(err, &keyError) || keyError.Obj != "bad" || !errors.Is(err, unkeyed) {
			t.Errorf("%s: %v", call, err)
		}
	}
	wantObjects(t, s.List(), "good")
}

func TestStoreTransforms(t *testing.T) {
	s := cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithTransformer(transform))
	must(t, s.Add(pod("a", 1)))
	must(t, s.Update(pod("b", 2)))
	wantObjects(t, s.List(), "a@1 transformed 1", "b@2 transformed 1")
	must(t, s.Replace([]any{pod("c", 3)}, "3"))
	wantObjects(t, s.List(), "c@3 transformed 1")

	failing := cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithTransformer(func(any) (any, error) { return nil, errors.New("cannot") }))
	for call, err := range map[string]error{
		"Add":     failing.Add(pod("a", 1)),
		"Replace": failing.Replace([]any{pod("a", 1)}, "1"),
	} {
		if err == nil || err.Error() != "transforming: cannot" {
			t.Errorf("%s: %v", call, err)
		}
	}
	wantObjects(t, failing.List())
}

func TestTransactionDoesWhatItCan(t *testing.T) {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	must(t, s.Add(pod("a", 1)))
	err := s.(cache.TransactionStore).Transaction(
		cache.Transaction{Type: cache.TransactionTypeAdd, Object: pod("b", 2)},
		cache.Transaction{Type: cache.TransactionTypeAdd, Object: "no pod"},
		cache.Transaction{Type: cache.TransactionTypeDelete, Object: pod("a", 3)},
		cache.Transaction{Type: cache.TransactionTypeUpdate, Object: pod("c", 4)},
	)
	if err == nil || !slices.Equal(err.SuccessfulIndices, []int{0, 2, 3}) || err.TotalTransactions != 4 || len(err.Errors) != 1 {
		t.Errorf("got %+v", err)
	}
	if !strings.Contains(fmt.Sprint(err), "(1/4)") {
		t.Errorf("the error does not count: %v", err)
	}
	wantObjects(t, s.List(), "b@2", "c@4")
	if err := s.(cache.TransactionStore).Transaction(cache.Transaction{Type: cache.TransactionTypeDelete, Object: pod("b", 5)}); err != nil {
		t.Errorf("a transaction without fault: %v", err)
	}
}

func TestIndexes(t *testing.T) {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"color": byLabel("color")})
	must(t, s.Add(pod("a", 1, "color", "red", "size", "1")))
	must(t, s.Add(pod("b", 2, "color", "red.blue", "size", "2")))
	must(t, s.AddIndexers(cache.Indexers{"size": byLabel("size")}))

	byIndex := func(index, value string, want ...string) {
		t.Helper()
		got, err := s.ByIndex(index, value)
		must(t, err)
		wantObjects(t, got, want...)
	}
	byIndex("color", "red", "a@1", "b@2")
	byIndex("color", "blue", "b@2")
	byIndex("color", "green")
	byIndex("size", "2", "b@2")

	like, err := s.Index("color", pod("x", 0, "color", "blue.red"))
	must(t, err)
	wantObjects(t, like, "a@1", "b@2")
	keys, err := s.IndexKeys("color", "red")
	must(t, err)
	if !slices.Equal(keys, []string{"ns/a", "ns/b"}) {
		t.Errorf("keys: %v", keys)
	}

	must(t, s.Update(pod("b", 3, "color", "green")))
	must(t, s.Delete(pod("a", 4)))
	if values := s.ListIndexFuncValues("color"); !slices.Equal(values, []string{"green"}) {
		t.Errorf("values of what is gone stay: %v", values)
	}
	if _, err := s.ByIndex("shape", "round"); err == nil || err.Error() != "Index with name shape does not exist" {
		t.Errorf("an index that is not there: %v", err)
	}
}

func TestIndexersAreTheStoresOwn(t *testing.T) {
	given := cache.Indexers{"color": byLabel("color")}
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, given)
	err := s.AddIndexers(cache.Indexers{"size": byLabel("size"), "color": byLabel("size")})
	if err == nil || !strings.HasPrefix(err.Error(), "indexer conflict: ") {
		t.Errorf("a conflict: %v", err)
	}
	if _, added := s.GetIndexers()["size"]; added {
		t.Error("an indexer was added although another was in conflict")
	}
	must(t, s.AddIndexers(cache.Indexers{"size": byLabel("size")}))
	if len(given) != 1 {
		t.Error("the caller's map was changed")
	}
	clear(s.GetIndexers())
	if len(s.GetIndexers()) != 2 {
		t.Error("the store's indexers were changed from outside")
	}

	none := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	must(t, none.AddIndexers(given))
	must(t, none.Add(pod("a", 1, "color", "red")))
	got, err := none.ByIndex("color", "red")
	must(t, err)
	wantObjects(t, got, "a@1")
}

func TestIndexThatFailsPanics(t *testing.T) {
	s := cache.NewIndexer(func(any) (string, error) { return "key", nil }, cache.Indexers{"color": byLabel("color")})
	defer func() {
		got := fmt.Sprint(recover())
		if !strings.Contains(got, `"key"`) || !strings.Contains(got, `"color"`) {
			t.Errorf("panicked with %v", got)
		}
	}()
	_ = s.Add("no pod")
}

func TestStoreKnowsItsVersion(t *testing.T) {
	s := cache.NewThreadSafeStore(cache.Indexers{}, nil)
	steps := []struct {
		does string
		do   func()
		want string
	}{
		{"nothing yet", func() {}, ""},
		{"an object", func() { s.Add("a", pod("a", 1)) }, "1"},
		{"an object without metadata", func() { s.Update("b", "b") }, "1"},
		{"a deletion without object", func() { s.Delete("b") }, "1"},
		{"a deletion", func() { s.DeleteWithObject("a", pod("a", 3)) }, "3"},
		{"a tombstone", func() { s.DeleteWithObject("a", cache.DeletedFinalStateUnknown{Obj: pod("a", 4)}) }, "3"},
		{"a bookmark", func() { s.Bookmark("5") }, "5"},
		{"a list", func() { s.Replace(map[string]any{}, "6") }, "6"},
	}
	for _, step := range steps {
		step.do()
		if got := s.LastStoreSyncResourceVersion(); got != step.want {
			t.Errorf("%s: %q, want %q", step.does, got, step.want)
		}
	}
}

// gauges is a provider of metrics that keeps what was last set.
type gauges map[string]float64

type gauge struct {
	all  gauges
	name string
}

func (g gauge) Set(v float64)     { g.all[g.name] = v }
func (g gauge) Observe(v float64) { g.all[g.name]++ }

func (g gauges) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return gauge{g, "queued"}
}

func (g gauges) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return gauge{g, "processed"}
}

func (g gauges) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return gauge{g, "version"}
}

func TestMetrics(t *testing.T) {
	name, err := cache.NewInformerName("metrics-test")
	must(t, err)
	defer name.Release()
	id := name.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	measured := gauges{}

	s := cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithStoreMetrics(id, measured))
	for _, test := range []struct {
		version string
		want    float64
	}{{"12", 12}, {"", 0}, {"1234567890123456789", 567890123456789}, {"not a number", 567890123456789}} {
		s.Bookmark(test.version)
		if measured["version"] != test.want {
			t.Errorf("version %q is shown as %v, want %v", test.version, measured["version"], test.want)
		}
	}

	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, Identifier: id, MetricsProvider: measured})
	must(t, q.Add(pod("a", 1)))
	must(t, q.Add(pod("b", 2)))
	if measured["queued"] != 2 {
		t.Errorf("queued: %v", measured["queued"])
	}
	_, err = q.Pop(func(any, bool) error { return nil })
	must(t, err)
	if measured["queued"] != 1 || measured["processed"] != 1 {
		t.Errorf("after a pop: %v", measured)
	}
	if q.Name() != "metrics-test" {
		t.Errorf("the queue is called %q", q.Name())
	}

	silent := gauges{}
	cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithStoreMetrics(cache.InformerNameAndResource{}, silent)).Bookmark("3")
	if len(silent) > 0 {
		t.Error("a store without identity reports")
	}
	cache.SetInformerMetricsProvider(measured)
	cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithStoreMetrics(id, nil)).Bookmark("77")
	if measured["version"] != 77 {
		t.Error("a store does not report to the provider that was set for all")
	}
}
