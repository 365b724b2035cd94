package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
)

// warmBenchmark is the restart of a program.
func warmBenchmark() benchmark {
	return benchmark{
		name: "warm", title: "restart with a snapshot of pods", server: podServer,
		text: "A program that has run before starts again; one pod has changed meanwhile. client-go lists everything. kinform begins with what the process before wrote to disk. " +
			"First read is when a pod can be read, confirmed when the server has confirmed the state and the handler has seen every pod. " +
			"kinform sends no list; probes are requests for the state of one object.",
		sides: []side{
			{name: "client-go, cold", task: task{Work: "warm", Side: clientGo, Read: true}},
			{name: "kinform, handler uses only keys", task: task{Work: "warm", Side: kinformTyped}},
			{name: "kinform, handler reads each object", task: task{Work: "warm", Side: kinformTyped, Read: true}},
		},
		rows: []row{
			{side: 1, title: "time to first read", metric: "first read", unit: inSeconds, limit: 1. / 20},
			{side: 1, title: "time to confirmed", metric: "confirmed", unit: inSeconds},
			{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 10},
			{side: 1, title: "lists", metric: "lists", unit: plain},
			{side: 1, title: "probes", metric: "probes", unit: plain},
			{side: 1, title: "watches", metric: "watches", unit: plain},
			{side: 1, title: "on disk", metric: "disk", unit: inBytes},
			{side: 2, title: "time to confirmed", metric: "confirmed", unit: inSeconds},
			{side: 2, title: "CPU", metric: "cpu", unit: inSeconds},
		},
	}
}

// asked counts requests.
type asked struct {
	http.RoundTripper
	lists, probes, watches atomic.Int64
}

func (a *asked) wrap(rt http.RoundTripper) http.RoundTripper {
	a.RoundTripper = rt
	return a
}

func (a *asked) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	switch q := r.URL.Query(); {
	case q.Get("watch") != "":
		a.watches.Add(1)
	case strings.Contains(q.Get("fieldSelector"), "metadata.name="):
		a.probes.Add(1)
	default:
		a.lists.Add(1)
	}
	return a.RoundTripper.RoundTrip(r)
}

func (a *asked) metrics() metrics {
	return metrics{"lists": float64(a.lists.Load()), "probes": float64(a.probes.Load()), "watches": float64(a.watches.Load())}
}

// warm measures the start of a program that has run before.
func warm(ctx context.Context, t task) (metrics, error) {
	if t.Side == clientGo {
		return warmClientGo(ctx, t)
	}
	dir, err := os.MkdirTemp("", "kinform-bench-warm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	before := t
	before.Work, before.Kind, before.Profile = "warm-before", dir, ""
	if _, err := runChild(ctx, os.Args[0], before, nil); err != nil {
		return nil, fmt.Errorf("the process before: %w", err)
	}
	return warmKinform(ctx, t, dir)
}

func warmOptions(dir string) kinform.Options {
	return kinform.Options{Logger: slog.New(slog.DiscardHandler), Snapshot: kinform.SnapshotOptions{Dir: dir}}
}

// warmBefore is the process before: it syncs, and ends. Then a pod is changed.
func warmBefore(ctx context.Context, t task) (metrics, error) {
	inf, err := kinform.New[*corev1.Pod](t.Server.config(), warmOptions(t.Kind))
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- inf.Run(run) }()
	if err := inf.WaitSynced(ctx); err != nil {
		stop()
		return nil, err
	}
	var mark marker
	for key := range inf.Lister().All() {
		ns, name, _ := strings.Cut(key, "/")
		mark.pod = types.NamespacedName{Namespace: ns, Name: name}
		break
	}
	stop()
	if err := <-ended; err != nil {
		return nil, err
	}
	if err := inf.Status().Sources[0].Snapshot.Failure; err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(t.Server.config())
	if err != nil {
		return nil, err
	}
	_, err = mark.change(ctx, client)
	return metrics{}, err
}

func warmKinform(ctx context.Context, t task, dir string) (metrics, error) {
	var a asked
	cfg := t.Server.config()
	cfg.WrapTransport = a.wrap
	runtime.GC()
	cpuBefore, began := cpu(), time.Now()
	inf, err := kinform.New[*corev1.Pod](cfg, warmOptions(dir))
	if err != nil {
		return nil, err
	}
	seen := 0
	sub := subscribe(inf, t, &seen, func(p *corev1.Pod) int { return len(p.Status.Phase) })
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	select {
	case <-inf.Readable():
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	read := 0
	for range inf.Lister().All() {
		read++
		break
	}
	first := time.Since(began).Seconds()
	if err := sub.WaitSynced(ctx); err != nil {
		return nil, err
	}
	m := a.metrics()
	m["first read"], m["confirmed"] = first, time.Since(began).Seconds()
	m["cpu"] = cpu() - cpuBefore
	st := inf.Status()
	m["disk"] = float64(st.Sources[0].Snapshot.Size)
	if read != 1 || seen != t.Objects || m["lists"] != 0 {
		return nil, fmt.Errorf("%d of %d objects seen, %.0f lists: %+v", seen, t.Objects, m["lists"], st.Sources[0].Snapshot)
	}
	return m, nil
}

func warmClientGo(ctx context.Context, t task) (metrics, error) {
	var a asked
	cfg := t.Server.config()
	cfg.WrapTransport = a.wrap
	runtime.GC()
	cpuBefore, began := cpu(), time.Now()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	inf := clientgoinformers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	seen := 0
	reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		seen++
		sink.Add(int64(len(obj.(*corev1.Pod).Status.Phase)))
	}})
	if err != nil {
		return nil, err
	}
	go inf.RunWithContext(context.WithoutCancel(ctx))
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		return nil, context.Cause(ctx)
	}
	first := time.Since(began).Seconds()
	if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
		return nil, context.Cause(ctx)
	}
	m := a.metrics()
	m["first read"], m["confirmed"], m["cpu"] = first, time.Since(began).Seconds(), cpu()-cpuBefore
	if seen != t.Objects {
		return nil, fmt.Errorf("the handler saw %d of %d objects", seen, t.Objects)
	}
	return m, nil
}
