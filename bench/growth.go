package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform"
)

// growth measures one informer with indexes by namespace and node, at one size.
func growth(ctx context.Context, t task) (metrics, error) {
	inf, err := kinform.New[*corev1.Pod](t.Server.config(), kinform.Options{})
	if err != nil {
		return nil, err
	}
	spaces, err := inf.AddFieldIndex("namespace", "metadata.namespace")
	if err != nil {
		return nil, err
	}
	nodes, err := inf.AddFieldIndex(byNode, "spec.nodeName")
	if err != nil {
		return nil, err
	}
	seen := 0
	sub := inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) { seen++ }, kinform.SubscribeOptions{})
	began := time.Now()
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	if err := sub.WaitSynced(ctx); err != nil {
		return nil, err
	}
	status := inf.Status()
	m := metrics{
		"time": time.Since(began).Seconds(), "cpu": cpu(), "peak": peak(), "resident": resident(),
		"sent per object": float64(status.Bytes) / float64(status.Objects), "packed per object": float64(status.Packed) / float64(status.Objects),
	}
	if seen != t.Objects || status.Rejected != 0 {
		return nil, fmt.Errorf("the handler saw %d of %d objects, %d were rejected: %w", seen, t.Objects, status.Rejected, status.LastRejected)
	}
	m["settled"] = settle()
	if err := growthReads(inf, spaces, nodes, m); err != nil {
		return nil, err
	}
	runtime.KeepAlive(inf)
	return m, nil
}

// growthReads times reads of objects that are packed, as after a sync they all
// are.
func growthReads(inf *kinform.Informer[*corev1.Pod], spaces, nodes kinform.Index[*corev1.Pod], m metrics) error {
	keys := slices.Collect(inf.Lister().Keys(labels.Everything()))
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:min(len(keys), 1000)]
	get := func(i int) error {
		pod, err := inf.Lister().Get(keys[i%len(keys)])
		if err == nil {
			sink.Add(int64(len(pod.Status.Phase)))
		}
		return err
	}
	var err error
	if m["get packed"], err = timed(len(keys), get); err != nil {
		return err
	}
	if m["get"], err = timed(200*len(keys), get); err != nil {
		return err
	}
	values := nodes.Values()
	slices.Sort(values)
	values = values[:min(len(values), 100)]
	found := 0
	if m["by index"], err = timed(len(values), func(i int) error {
		found += count(nodes.Keys(values[i]))
		return nil
	}); err != nil {
		return err
	}
	m["by index found"] = float64(found) / float64(len(values))
	all := 0
	for _, v := range spaces.Values() {
		all += count(spaces.Keys(v))
	}
	if all != inf.Lister().Len() {
		return fmt.Errorf("the index by namespace has %d of %d objects", all, inf.Lister().Len())
	}
	return growthSelects(inf, m)
}

// growthSelects times a label selector that one workload in some matches.
func growthSelects(inf *kinform.Informer[*corev1.Pod], m metrics) error {
	first, err := inf.Lister().Get(firstOf(inf.Lister().Keys(labels.Everything())))
	if err != nil {
		return err
	}
	team := "team.example.com/name"
	selector := labels.SelectorFromSet(labels.Set{team: first.Labels[team]})
	if first.Labels[team] == "" {
		return fmt.Errorf("%s has no label %s", first.Name, team)
	}
	matches := 0
	m["select and count"], _ = timed(3, func(int) error {
		matches = count(inf.Lister().Keys(selector))
		return nil
	})
	m["matches"] = float64(matches)
	m["select 100"], _ = timed(10, func(int) error {
		n := 0
		for range inf.Lister().Keys(selector) {
			if n++; n == 100 {
				break
			}
		}
		return nil
	})
	return nil
}

func count[T any](s iter.Seq[T]) int {
	n := 0
	for range s {
		n++
	}
	return n
}

func firstOf(s iter.Seq[string]) string {
	for k := range s {
		return k
	}
	return ""
}
