package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/metrics"
)

// start starts a server that ends with the test, with some pods.
func start(t *testing.T, pods int) *rest.Config {
	t.Helper()
	s, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range pods {
		put(t, s.Config(), fmt.Sprint("pod-", i))
	}
	return s.Config()
}

// put creates a pod.
func put(t *testing.T, cfg *rest.Config, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// scraped returns the series of a registry, "name{labels}", with their values.
func scraped(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Gauge != nil:
				all[name] = m.GetGauge().GetValue()
			case m.Counter != nil:
				all[name] = m.GetCounter().GetValue()
			case m.Histogram != nil:
				h := m.GetHistogram()
				all[name] = float64(h.GetSampleCount())
				for _, b := range h.GetBucket() {
					all[fmt.Sprint(name, "_bucket ", b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
				all[name+"_bucket +Inf"], all[name+"_sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
			}
		}
	}
	return all
}

// run starts a factory, waits until it has synced, and shuts it down at the end of the test.
func run(t *testing.T, f *kinform.Factory) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	t.Cleanup(f.Shutdown)
	if err := f.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func newFactory(t *testing.T, cfg *rest.Config) *kinform.Factory {
	t.Helper()
	f, err := kinform.NewFactory(cfg, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func podsOf(t *testing.T, f *kinform.Factory, o kinform.Options) *kinform.Informer[*corev1.Pod] {
	t.Helper()
	inf, err := kinform.For[*corev1.Pod](f, o)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

func nothing(context.Context, kinform.Event[*corev1.Pod]) {}

// TestValues compares what is shown with what was done.
func TestValues(t *testing.T) {
	cfg := start(t, 3)
	f := newFactory(t, cfg)
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.Register(reg, f); err != nil {
		t.Fatal(err)
	}
	pods := podsOf(t, f, kinform.Options{}) // made later
	arrived := make(chan string, 10)
	sub := pods.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) { arrived <- ev.Key }, kinform.SubscribeOptions{Name: "mine"})
	_ = pods.Measure() // as a scrape would
	ctx := run(t, f)
	if err := sub.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	put(t, cfg, "late")
	for range 4 {
		<-arrived
	}
	for range 2 {
		if _, err := pods.Lister().Get("default/late"); err != nil {
			t.Fatal(err)
		}
	}
	sub.Stop() // its last call has returned, and is counted
	again := pods.Subscribe(func(context.Context, kinform.Event[*corev1.Pod]) { panic("here") }, kinform.SubscribeOptions{Name: "again", OnPanic: func(string, any, []byte) {}})
	if err := again.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	got := scraped(t, reg)
	for name, want := range map[string]float64{
		`kinform_informers{}`: 1,
		`kinform_informer_info{field_selector="",informer="pods.v1",label_selector="",namespaces="",resource="pods.v1"}`: 1,
		`kinform_synced{informer="pods.v1"}`:                                               1,
		`kinform_objects{informer="pods.v1"}`:                                              4,
		`kinform_sources{informer="pods.v1",state="watching"}`:                             1,
		`kinform_sources{informer="pods.v1",state="waiting"}`:                              0,
		`kinform_lists_total{cause="first",informer="pods.v1"}`:                            1,
		`kinform_lists_total{cause="expired",informer="pods.v1"}`:                          0,
		`kinform_watches_total{informer="pods.v1"}`:                                        1,
		`kinform_events_total{informer="pods.v1"}`:                                         1,
		`kinform_reads_total{informer="pods.v1",result="miss"}`:                            1,
		`kinform_reads_total{informer="pods.v1",result="hit"}`:                             1,
		`kinform_subscriber_panics_total{informer="pods.v1",subscriber="again"}`:           4,
		`kinform_subscriber_backlog{informer="pods.v1",subscriber="again"}`:                0,
		`kinform_subscriber_synced{informer="pods.v1",subscriber="again"}`:                 1,
		`kinform_subscriber_delivery_delay_seconds{informer="pods.v1",subscriber="again"}`: 4,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	for _, name := range []string{
		`kinform_sent_bytes{informer="pods.v1"}`, `kinform_at_rest_bytes{informer="pods.v1"}`, `kinform_mapped_bytes{informer="pods.v1"}`,
		`kinform_sync_duration_seconds{informer="pods.v1"}`, `kinform_watch_age_seconds{informer="pods.v1"}`, `kinform_staleness_seconds{informer="pods.v1"}`,
	} {
		if got[name] <= 0 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	for name := range got {
		if strings.Contains(name, `subscriber="mine"`) {
			t.Errorf("%s is left of a subscriber that was stopped", name)
		}
	}
}

// TestScrapeOf50Informers logs what a scrape costs, and checks that all series end with
// the informers.
func TestScrapeOf50Informers(t *testing.T) {
	const n = 50
	cfg := start(t, 200)
	f := newFactory(t, cfg)
	var subs []*kinform.Subscription
	for i := range n {
		inf := podsOf(t, f, kinform.Options{LabelSelector: fmt.Sprintf("app!=%d", i)})
		subs = append(subs, inf.Subscribe(nothing, kinform.SubscribeOptions{Name: "handler"}))
	}
	reg := prometheus.NewRegistry()
	if _, err := metrics.Register(reg, f); err != nil {
		t.Fatal(err)
	}
	ctx := run(t, f)
	for _, s := range subs {
		if err := s.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
	}
	page := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	defer page.Close()
	began := time.Now()
	const times = 20
	size, lines := 0, 0
	for range times {
		size, lines = get(t, page.URL)
	}
	took := time.Since(began) / times
	perInformer := (lines - 1) / n
	t.Logf("%d informers with a subscriber each: %d series, %d bytes, %v a scrape", n, lines, size, took)
	if perInformer > 90 {
		t.Errorf("an informer with one subscriber has %d series, want 90 at most", perInformer)
	}
	f.Shutdown()
	if got := scraped(t, reg); len(got) != 1 || got["kinform_informers{}"] != 0 {
		t.Errorf("after the end there are %d series, with %v informers", len(got), got["kinform_informers{}"])
	}
}

// get reads a page of metrics, and returns its size and how many series there are.
func get(t *testing.T, url string) (size, series int) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "kinform_") {
			series++
		}
	}
	return text.Len(), series
}

// TestSeriesGoWithTheInformer: an informer that was acquired and released leaves
// nothing behind.
func TestSeriesGoWithTheInformer(t *testing.T) {
	cfg := start(t, 1)
	f := newFactory(t, cfg)
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.Register(reg, f); err != nil {
		t.Fatal(err)
	}
	run(t, f)
	for range 3 {
		lease, err := kinform.Acquire[*corev1.Pod](f, kinform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := scraped(t, reg); got[`kinform_objects{informer="pods.v1"}`] != 1 {
			t.Errorf("while it is used: %v", got)
		}
		lease.Release()
		<-lease.Done()
		if got := scraped(t, reg); len(got) != 1 {
			t.Errorf("after it was released: %v", got)
		}
	}
}

// TestLabelsAreBounded has more informers and subscribers than may have their own series.
func TestLabelsAreBounded(t *testing.T) {
	cfg := start(t, 2)
	f := newFactory(t, cfg)
	c := metrics.New(metrics.Options{Informers: 3, Subscribers: 2})
	if err := c.Add(f); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	for i := range 5 {
		inf := podsOf(t, f, kinform.Options{LabelSelector: fmt.Sprintf("app!=%d", i)})
		for range 4 {
			inf.Subscribe(nothing, kinform.SubscribeOptions{Name: "twin"})
		}
	}
	run(t, f)
	values := map[string]map[string]bool{"informer": {}, "subscriber": {}}
	got := scraped(t, reg)
	for name := range got {
		for label, set := range values {
			if _, after, ok := strings.Cut(name, label+`="`); ok {
				value, _, _ := strings.Cut(after, `"`)
				set[value] = true
			}
		}
	}
	if n := len(values["informer"]); n != 4 || !values["informer"]["other"] {
		t.Errorf("informers: %v", values["informer"])
	}
	if want := []string{"other", "twin", "twin#2"}; !slices.Equal(slices.Sorted(maps.Keys(values["subscriber"])), want) {
		t.Errorf("subscribers: %v, want %v", values["subscriber"], want)
	}
	if got[`kinform_objects{informer="other"}`] != 4 { // of two informers
		t.Errorf("others have %v objects", got[`kinform_objects{informer="other"}`])
	}
	if got[`kinform_informers{}`] != 5 {
		t.Errorf("%v informers, want 5", got[`kinform_informers{}`])
	}
}

// TestScrapeWaitsForNobody: an index function hangs while it holds the writer's lock.
func TestScrapeWaitsForNobody(t *testing.T) {
	cfg := start(t, 1)
	f := newFactory(t, cfg)
	pods := podsOf(t, f, kinform.Options{})
	hangs, goOn := make(chan struct{}), make(chan struct{})
	_, err := pods.AddIndex("hangs", func(p *corev1.Pod) []string {
		if p.Name == "late" {
			close(hangs)
			<-goOn
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pods.Subscribe(nothing, kinform.SubscribeOptions{Name: "handler"})
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.Register(reg, f); err != nil {
		t.Fatal(err)
	}
	run(t, f)
	put(t, cfg, "late")
	<-hangs
	got := scraped(t, reg)
	close(goOn)
	if got[`kinform_objects{informer="pods.v1"}`] != 1 {
		t.Errorf("while it hangs: %v objects", got[`kinform_objects{informer="pods.v1"}`])
	}
}

// TestDropIns: informers of client-go's interfaces are shown, too, each watch once.
func TestDropIns(t *testing.T) {
	cfg := start(t, 2)
	client := kubernetes.NewForConfigOrDie(cfg)
	f := informers.NewSharedInformerFactory(client, 0)
	twin := informers.NewSharedInformerFactory(client, 0)
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.Register(reg, f, twin, f.Core().V1().Pods().Informer()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Core().V1().Pods().Informer().AddEventHandler(counting{}); err != nil {
		t.Fatal(err)
	}
	twin.Core().V1().Pods().Informer()
	if got := scraped(t, reg); len(got) != 1 {
		t.Errorf("before they run: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.StartWithContext(ctx)
	twin.StartWithContext(ctx)
	f.WaitForCacheSync(ctx.Done())
	twin.WaitForCacheSync(ctx.Done())
	got := scraped(t, reg)
	if got[`kinform_informers{}`] != 1 || got[`kinform_objects{informer="pods.v1"}`] != 2 {
		t.Errorf("%v informers, of pods %v objects", got[`kinform_informers{}`], got[`kinform_objects{informer="pods.v1"}`])
	}
	if _, ok := got[`kinform_subscriber_backlog{informer="pods.v1",subscriber="github.com/kinform/kinform/metrics_test.counting"}`]; !ok {
		t.Error("the handler is not shown")
	}
	cancel()
	f.Shutdown()
	twin.Shutdown()
	if got := scraped(t, reg); len(got) != 1 {
		t.Errorf("after the end: %v", got)
	}
}

// counting is a handler.
type counting struct{}

func (counting) OnAdd(any, bool)   {}
func (counting) OnUpdate(_, _ any) {}
func (counting) OnDelete(any)      {}

// TestOthersAreRefused: client-go's own informers are refused.
func TestOthersAreRefused(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(&rest.Config{})
	_, err := metrics.Register(prometheus.NewRegistry(), clientinformers.NewSharedInformerFactory(client, 0))
	if !errors.Is(err, metrics.ErrNotKinforms) {
		t.Errorf("the error is %v", err)
	}
}

// TestRemoved: what is removed is not shown.
func TestRemoved(t *testing.T) {
	cfg := start(t, 1)
	f := newFactory(t, cfg)
	podsOf(t, f, kinform.Options{})
	reg := prometheus.NewPedanticRegistry()
	c, err := metrics.Register(reg, f)
	if err != nil {
		t.Fatal(err)
	}
	if got := scraped(t, reg); got[`kinform_sources{informer="pods.v1",state="idle"}`] != 1 {
		t.Errorf("before it runs: %v", got)
	}
	c.Remove(f)
	if got := scraped(t, reg); len(got) != 1 {
		t.Errorf("after it was removed: %v", got)
	}
}

// TestConventions checks names and help as promtool does.
func TestConventions(t *testing.T) {
	cfg := start(t, 1)
	f := newFactory(t, cfg)
	pods := podsOf(t, f, kinform.Options{})
	sub := pods.Subscribe(nothing, kinform.SubscribeOptions{})
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.Register(reg, f); err != nil {
		t.Fatal(err)
	}
	if err := sub.WaitSynced(run(t, f)); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
