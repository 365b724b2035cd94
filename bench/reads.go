package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// reads measures listers and indexes, the first time and when the objects are at
// hand.
func reads(ctx context.Context, t task) (metrics, error) {
	factory, err := podFactory(t)
	if err != nil {
		return nil, err
	}
	pods := factory.Core().V1().Pods()
	inf := pods.Informer()
	if err := inf.AddIndexers(cache.Indexers{byNode: podIndexers()[byNode]}); err != nil {
		return nil, err
	}
	factory.Start(context.WithoutCancel(ctx).Done())
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		return nil, context.Cause(ctx)
	}
	waitQuiet()
	r := reader{task: t, m: metrics{}, all: func() ([]*corev1.Pod, error) { return pods.Lister().List(labels.Everything()) }}
	for _, name := range []string{"first list", "second list"} {
		settle()
		if err := r.list(name, 1); err != nil {
			return nil, err
		}
	}
	list, err := r.all()
	if err != nil {
		return nil, err
	}
	if err := r.list("list", 20); err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	r.m["get"], err = timed(200_000, func(i int) error {
		want := list[i%len(list)]
		pod, err := pods.Lister().Pods(want.Namespace).Get(want.Name)
		if err == nil {
			sink.Add(int64(len(pod.Status.Phase)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	nodes := inf.GetIndexer().ListIndexFuncValues(byNode)
	found := 0
	r.m["by index"], err = timed(10*len(nodes), func(i int) error {
		some, err := inf.GetIndexer().ByIndex(byNode, nodes[i%len(nodes)])
		found += len(some)
		return err
	})
	if err == nil && found != 10*t.Objects {
		err = fmt.Errorf("the index found %d of %d objects", found/10, t.Objects)
	}
	r.m["nodes"] = float64(len(nodes))
	return r.m, err
}

type reader struct {
	task task
	m    metrics
	all  func() ([]*corev1.Pod, error)
}

func (r reader) list(metric string, times int) (err error) {
	r.m[metric], err = timed(times, func(int) error {
		list, err := r.all()
		if err == nil && len(list) != r.task.Objects {
			err = fmt.Errorf("the lister has %d of %d objects", len(list), r.task.Objects)
		}
		return err
	})
	return err
}

// timed returns how many seconds one call takes.
func timed(n int, call func(i int) error) (float64, error) {
	began := time.Now()
	for i := range n {
		if err := call(i); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / float64(n), nil
}
