package cache_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinform/kinform/cache"
)

// meters is a provider of both kinds of metrics, which several goroutines use.
type meters struct {
	mu  sync.Mutex
	all map[string]float64
}

type meter struct {
	to   *meters
	name string
}

func (m meter) change(f func(float64) float64) {
	m.to.mu.Lock()
	defer m.to.mu.Unlock()
	m.to.all[m.name] = f(m.to.all[m.name])
}

func (m meter) Set(v float64)   { m.change(func(float64) float64 { return v }) }
func (m meter) Inc()            { m.change(func(old float64) float64 { return old + 1 }) }
func (m meter) Observe(float64) { m.Inc() }

func (m *meters) get(name string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[name]
}

func (m *meters) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return meter{m, "queued"}
}

func (m *meters) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return meter{m, "processed"}
}

func (m *meters) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return meter{m, "version"}
}

func (m *meters) NewListsMetric(string) cache.CounterMetric         { return meter{m, "lists"} }
func (m *meters) NewListDurationMetric(string) cache.SummaryMetric  { return meter{m, "list times"} }
func (m *meters) NewItemsInListMetric(string) cache.SummaryMetric   { return meter{m, "list sizes"} }
func (m *meters) NewWatchesMetric(string) cache.CounterMetric       { return meter{m, "watches"} }
func (m *meters) NewShortWatchesMetric(string) cache.CounterMetric  { return meter{m, "short watches"} }
func (m *meters) NewWatchDurationMetric(string) cache.SummaryMetric { return meter{m, "watch times"} }
func (m *meters) NewItemsInWatchMetric(string) cache.SummaryMetric  { return meter{m, "watch sizes"} }
func (m *meters) NewLastResourceVersionMetric(string) cache.GaugeMetric {
	return meter{m, "reflector version"}
}

// TestSharedInformerReports: a shared informer fills client-go's providers, as those programs
// have them that were written for client-go.
func TestSharedInformerReports(t *testing.T) {
	cache.SetReflectorMetricsProvider(reflectors) // for the process; the first call counts
	synctest.Test(t, func(t *testing.T) {
		name, err := cache.NewInformerName("shared-metrics-test")
		must(t, err)
		defer name.Release()
		m := &meters{all: map[string]float64{}}
		client := fake.NewClientset(pod("a", 1), pod("b", 2))
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.CoreV1().Pods("").List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return client.CoreV1().Pods("").Watch(ctx, o)
			},
		}
		inf := cache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{
			Identifier:              name.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}),
			InformerMetricsProvider: m,
		})
		hangs := make(chan struct{})
		_, err = inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			if obj.(*corev1.Pod).Name == "slow" {
				<-hangs
			}
		}})
		must(t, err)
		before := reflectors.get("lists")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			inf.RunWithContext(ctx)
		}()
		synctest.Wait()
		if n := m.get("processed"); n != 2 {
			t.Errorf("%v calls of the handler, want 2", n)
		}
		for _, name := range []string{"slow", "next", "last"} {
			_, err = client.CoreV1().Pods("ns").Create(ctx, pod(name, 3), metav1.CreateOptions{})
			must(t, err)
			synctest.Wait()
		}
		if n := m.get("queued"); n != 2 {
			t.Errorf("while the handler hangs, %v changes wait, want 2", n)
		}
		close(hangs)
		synctest.Wait()
		if n := m.get("queued"); n != 0 || m.get("processed") != 5 {
			t.Errorf("at the end %v wait, and the handler was called %v times", n, m.get("processed"))
		}
		if reflectors.get("lists") != before+1 || reflectors.get("list sizes") == 0 || reflectors.get("watches") == 0 {
			t.Errorf("the reflector: %v", reflectors.all)
		}
		<-time.After(time.Minute)
		cancel()
		<-ended
		if reflectors.get("watch times") == 0 {
			t.Error("no watch was reported when it had ended")
		}
	})
}

var reflectors = &meters{all: map[string]float64{}}
