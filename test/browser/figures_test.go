package browser

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/apisim/cluster"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/internal/inside"
)

// What the page is measured with.
const (
	figureObjects = 180_000 // of which 100,000 are pods
	figureRate    = 1000    // changes of pods a second
	figureWindow  = 8 * time.Second
	figureRounds  = 3
)

// BenchmarkPage says how long the views take in a browser, how smooth the page is, and what
// it costs the process, with 100,000 pods of which 1,000 change each second. One run is
// enough: -benchtime 1x.
func BenchmarkPage(b *testing.B) {
	w, _ := newWorld(b, cluster.Options{Objects: figureObjects, Seed: 7}, debug.Options{Idle: time.Second})
	l := &load{watcher: watch.NewFake()}
	pods := l.informer(w)
	w.run(func(ctx context.Context) { pods.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(b.Context().Done(), pods.HasSynced) {
		b.Fatal("it has not synced")
	}
	keys := pods.GetStore().ListKeys()
	print("%d pods, %d changes of them a second", len(keys), figureRate)
	w.run(func(ctx context.Context) { l.churn(ctx, pods.GetStore(), keys) })
	tab := w.open()
	for b.Loop() {
		tab.timeViews(keys[len(keys)/2])
		tab.frames()
		tab.costs(w, l, pods)
	}
}

// load changes pods at a rate that a server in the same process would not reach: it is the
// watch itself.
type load struct {
	watcher *watch.FakeWatcher
	version int
	sent    atomic.Int64
}

// informer returns an informer of the pods of a cluster, whose changes are the load's.
func (l *load) informer(w *world) cache.SharedIndexInformer {
	list := func(o metav1.ListOptions) (runtime.Object, error) {
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
		all, err := w.client.CoreV1().Pods("").List(w.Context(), o)
		if err == nil {
			l.version, err = strconv.Atoi(all.ResourceVersion)
		}
		return all, err
	}
	pods := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListFunc:  list,
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return l.watcher, nil },
	}, &corev1.Pod{}, 0, cache.Indexers{})
	if err := w.page.Add("pods", pods); err != nil {
		w.Fatal(err)
	}
	return pods
}

// churn changes one pod after the other.
func (l *load) churn(ctx context.Context, store cache.Store, keys []string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for n := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for ; n < int(figureRate*time.Since(began).Seconds()); n++ {
			obj, _, err := store.GetByKey(keys[n*7919%len(keys)])
			if err != nil || ctx.Err() != nil {
				return
			}
			pod := obj.(*corev1.Pod).DeepCopy()
			l.version++
			pod.ResourceVersion = strconv.Itoa(l.version)
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "example.com/beat", pod.ResourceVersion)
			pod.Status.Message = "beat " + pod.ResourceVersion
			l.watcher.Modify(pod)
			l.sent.Add(1)
		}
	}
}

// timeViews opens each view some times.
func (b *browser) timeViews(key string) {
	for _, v := range []struct{ name, path string }{
		{"overview", ""}, {"informer", "informer?i=pods"}, {"search by key", "objects?i=pods&q=web-"},
		{"search by label", "objects?i=pods&l=app"}, {"one object", "object?i=pods&key=" + key},
	} {
		var server, whole []float64
		for range 7 {
			b.visit(v.path)
			b.until(`document.readyState === "complete" && performance.getEntriesByType("navigation")[0].loadEventEnd > 0`)
			times := eval[[]float64](b, `(n => [n.responseEnd - n.requestStart, n.loadEventEnd])(performance.getEntriesByType("navigation")[0])`)
			server, whole = append(server, times[0]), append(whole, times[1])
		}
		print("%-16s answered in %4.0f ms, loaded in %4.0f ms (medians of 7; the slowest %.0f ms)", v.name, median(server), median(whole), slices.Max(whole))
	}
}

// frames says how long the page keeps the browser from drawing while changes come.
func (b *browser) frames() {
	b.visit("informer?i=pods")
	b.until(isLive)
	b.until(`document.querySelectorAll("#changes > li").length > 50`)
	gaps := run(b, chromedp.Evaluate[[]float64](`new Promise(done => {
		const gaps = [], end = performance.now() + 8000;
		let last = performance.now();
		requestAnimationFrame(function next() {
			const now = performance.now();
			gaps.push(now - last);
			last = now;
			if (now < end) requestAnimationFrame(next); else done(gaps);
		});
	})`, chromedp.EvalAwaitPromise))
	slices.Sort(gaps)
	print("frames: median %.0f ms apart, 99%% within %.0f ms, the longest %.0f ms", median(gaps), gaps[len(gaps)*99/100], gaps[len(gaps)-1])
	print("shown of the changes: %d, and %q", eval[int](b, `document.querySelectorAll("#changes > li").length`), eval[string](b, `document.querySelector("#left-out").textContent`))
}

// costs compares the process while nobody looks with the process while somebody does.
func (b *browser) costs(w *world, l *load, pods cache.SharedIndexInformer) {
	states := []string{"nobody looks", "the overview is open", "the informer is open"}
	shares, rates, each := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for range figureRounds {
		for _, state := range states {
			switch state {
			case "nobody looks":
				b.do(chromedp.Navigate("about:blank"))
				w.until(func() bool { return len(pods.(inside.One).Inside().Engine().Subscriptions()) == 0 })
			case "the overview is open":
				b.visit("")
				b.until(isLive)
			default:
				b.visit("informer?i=pods")
				b.until(isLive)
			}
			share, rate := w.share(l)
			shares[state], rates[state] = append(shares[state], share), append(rates[state], rate)
			each[state] = append(each[state], share*10_000/rate)
		}
	}
	for _, state := range states { // a busy machine does not hold the rate: what a change costs can be compared
		print("%-20s %3.0f µs of CPU for a change (rounds %.0f), %.1f%% of a core, with %.0f changes a second",
			state, median(each[state]), each[state], median(shares[state]), rates[state])
	}
}

// print writes a line of figures.
func print(format string, values ...any) { fmt.Printf(format+"\n", values...) }

// share is how much of a core the process takes for a while, in percent, and how many
// changes a second there were. Who changes the pods is a part of it.
func (w *world) share(l *load) (percent, rate float64) {
	used, sent, began := processor(w), l.sent.Load(), time.Now()
	<-time.After(figureWindow)
	took := time.Since(began).Seconds()
	return 100 * (processor(w) - used) / took, float64(l.sent.Load()-sent) / took
}

// processor is how many seconds of it the process has used.
func processor(w *world) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		w.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// until waits for a condition.
func (w *world) until(condition func() bool) {
	w.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); !condition(); <-look.C {
		if time.Now().After(end) {
			w.Fatal("it never came true")
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
