package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
)

const (
	writesBy = 8
	// writesPoll is how often a program without waits looks into its cache.
	writesPoll = 5 * time.Millisecond
)

// writesBenchmark is how long a program waits until it reads what it wrote.
func writesBenchmark() benchmark {
	return benchmark{
		name: "writes", title: "read your writes", server: podServer,
		text: fmt.Sprintf("%d goroutines write config maps; after each write they wait until the cache has it, and read it. With client-go a program looks into its lister every %v, "+
			"until the version is there; with kinform it calls WaitForWrites. None of the reads is older than the write. The times are those of the waits.", writesBy, writesPoll),
		sides: []side{
			{name: "client-go, polling its lister", task: task{Work: "writes", Side: clientGo}},
			{name: "kinform", task: task{Work: "writes", Side: kinformTyped}},
		},
		rows: []row{
			{side: 1, title: "wait, p50", metric: "p50", unit: inSeconds},
			{side: 1, title: "wait, p99", metric: "p99", unit: inSeconds},
			{side: 1, title: "CPU", metric: "cpu", unit: inSeconds},
		},
	}
}

// writesEach is how many writes each goroutine makes.
const writesEach = 250

// writes measures the waits between writes and reads.
func writes(ctx context.Context, t task) (metrics, error) {
	cfg := t.Server.config()
	var noted kinform.Writes
	cfg.Wrap(noted.Wrap)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	ns, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "writes-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	read := readsOfClientGo
	if t.Side != clientGo {
		read = readsOfKinform
	}
	wait, err := read(ctx, t, ns.Name, &noted)
	if err != nil {
		return nil, err
	}
	cpuBefore := cpu()
	took, errs := make([][]time.Duration, writesBy), make([]error, writesBy)
	var all sync.WaitGroup
	for i := range writesBy {
		all.Go(func() { took[i], errs[i] = writeOwn(ctx, client, ns.Name, "own-"+strconv.Itoa(i), wait) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
	return metrics{"p50": sorted[len(sorted)/2].Seconds(), "p99": sorted[len(sorted)*99/100].Seconds(), "cpu": cpu() - cpuBefore}, nil
}

// await waits until a cache has what was written, and returns what it has.
type await func(context.Context, *corev1.ConfigMap) (*corev1.ConfigMap, error)

// writeOwn writes an object again and again, and measures the waits.
func writeOwn(ctx context.Context, client kubernetes.Interface, ns, name string, wait await) (took []time.Duration, err error) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for n := range writesEach {
		o.Data = map[string]string{"n": strconv.Itoa(n)}
		if n == 0 {
			o, err = client.CoreV1().ConfigMaps(ns).Create(ctx, o, metav1.CreateOptions{})
		} else {
			o, err = client.CoreV1().ConfigMaps(ns).Update(ctx, o, metav1.UpdateOptions{})
		}
		if err != nil {
			return nil, err
		}
		began := time.Now()
		held, err := wait(ctx, o)
		took = append(took, time.Since(began))
		if err != nil || held.ResourceVersion != o.ResourceVersion {
			return nil, fmt.Errorf("%s was written @%s, and read as %v: %w", name, o.ResourceVersion, held, err)
		}
	}
	return took, nil
}

func readsOfKinform(ctx context.Context, t task, ns string, noted *kinform.Writes) (await, error) {
	inf, err := kinform.New[*corev1.ConfigMap](t.Server.config(), kinform.Options{Namespaces: []string{ns}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	return func(ctx context.Context, o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		key := o.Namespace + "/" + o.Name
		if err := inf.WaitForWrites(ctx, noted, key); err != nil {
			return nil, err
		}
		return inf.Lister().Get(key)
	}, inf.WaitSynced(ctx)
}

func readsOfClientGo(ctx context.Context, t task, ns string, _ *kinform.Writes) (await, error) {
	client, err := kubernetes.NewForConfig(t.Server.config())
	if err != nil {
		return nil, err
	}
	f := clientgoinformers.NewSharedInformerFactoryWithOptions(client, 0, clientgoinformers.WithNamespace(ns))
	lister := f.Core().V1().ConfigMaps().Lister()
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	return func(ctx context.Context, o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		for {
			held, err := lister.ConfigMaps(ns).Get(o.Name)
			if err == nil && held.ResourceVersion == o.ResourceVersion {
				return held, nil
			}
			select {
			case <-time.After(writesPoll):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}, nil
}
