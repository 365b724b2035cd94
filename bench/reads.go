package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/objects"
)

// podReader is what is measured of an informer's reads. Each returns how many objects
// it has seen.
type podReader struct {
	all     func(visit func(*corev1.Pod)) error
	get     func(namespace, name string) (*corev1.Pod, error)
	byIndex func(node string) (int, error)
	choose  func(labels.Selector) (int, error)
	nodes   func() []string
}

// reads measures listers and indexes, the first time and when the objects are
// decoded.
func reads(ctx context.Context, t task) (metrics, error) {
	open := factoryReader
	if t.Side == kinformTyped {
		open = nativeReader
	}
	r, err := open(ctx, t)
	if err != nil {
		return nil, err
	}
	waitQuiet()
	m := metrics{}
	few, want := onePercent(t.Objects)
	for _, metric := range []struct {
		name  string
		times int
	}{{"first choice", 1}, {"second choice", 1}, {"choice", 20}} {
		settle()
		if m[metric.name], err = r.timeChoices(metric.times, few, want); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"first list", "second list"} {
		settle()
		if m[name], err = r.timeLists(1, t.Objects); err != nil {
			return nil, err
		}
	}
	var list []*corev1.Pod
	if err := r.all(func(p *corev1.Pod) { list = append(list, p) }); err != nil {
		return nil, err
	}
	if m["list"], err = r.timeLists(20, t.Objects); err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	m["get"], err = timed(200_000, func(i int) error {
		want := list[i%len(list)]
		pod, err := r.get(want.Namespace, want.Name)
		if err == nil {
			sink.Add(int64(len(pod.Status.Phase)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	nodes := r.nodes()
	found := 0
	m["by index"], err = timed(10*len(nodes), func(i int) error {
		n, err := r.byIndex(nodes[i%len(nodes)])
		found += n
		return err
	})
	if err == nil && found != 10*t.Objects {
		err = fmt.Errorf("the index found %d of %d objects", found/10, t.Objects)
	}
	m["nodes"] = float64(len(nodes))
	return m, err
}

// factoryReader reads through an informer factory, client-go's or the drop-in.
func factoryReader(ctx context.Context, t task) (podReader, error) {
	factory, err := podFactory(t)
	if err != nil {
		return podReader{}, err
	}
	pods := factory.Core().V1().Pods()
	inf := pods.Informer()
	if err := inf.AddIndexers(cache.Indexers{byNode: podIndexers()[byNode]}); err != nil {
		return podReader{}, err
	}
	factory.Start(context.WithoutCancel(ctx).Done())
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		return podReader{}, context.Cause(ctx)
	}
	return podReader{
		all: func(visit func(*corev1.Pod)) error {
			list, err := pods.Lister().List(labels.Everything())
			for _, p := range list {
				visit(p)
			}
			return err
		},
		get: func(namespace, name string) (*corev1.Pod, error) { return pods.Lister().Pods(namespace).Get(name) },
		byIndex: func(node string) (int, error) {
			some, err := inf.GetIndexer().ByIndex(byNode, node)
			return len(some), err
		},
		choose: func(s labels.Selector) (int, error) {
			some, err := pods.Lister().List(s)
			return len(some), err
		},
		nodes: func() []string { return inf.GetIndexer().ListIndexFuncValues(byNode) },
	}, nil
}

// nativeReader reads through package kinform.
func nativeReader(ctx context.Context, t task) (podReader, error) {
	inf, err := kinform.New[*corev1.Pod](t.Server.config(), kinform.Options{})
	if err != nil {
		return podReader{}, err
	}
	index, err := inf.AddIndex(byNode, func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
	if err != nil {
		return podReader{}, err
	}
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	if err := inf.WaitSynced(ctx); err != nil {
		return podReader{}, err
	}
	return podReader{
		all: func(visit func(*corev1.Pod)) error {
			for _, p := range inf.Lister().All() {
				visit(p)
			}
			return nil
		},
		get: func(namespace, name string) (*corev1.Pod, error) { return inf.Lister().Get(namespace + "/" + name) },
		byIndex: func(node string) (n int, err error) {
			for range index.Get(node) {
				n++
			}
			return n, nil
		},
		choose: func(s labels.Selector) (n int, err error) {
			for range inf.Lister().Select(s) {
				n++
			}
			return n, nil
		},
		nodes: index.Values,
	}, nil
}

// timeLists returns how long it takes to list all objects, and to look at each.
func (r podReader) timeLists(times, objects int) (float64, error) {
	return timed(times, func(int) error {
		n := 0
		err := r.all(func(*corev1.Pod) { n++ })
		if err == nil && n != objects {
			err = fmt.Errorf("the lister has %d of %d objects", n, objects)
		}
		return err
	})
}

// timeChoices returns how long it takes to list what a selector matches.
func (r podReader) timeChoices(times int, s labels.Selector, want int) (float64, error) {
	return timed(times, func(int) error {
		n, err := r.choose(s)
		if err == nil && n != want {
			err = fmt.Errorf("%s: the lister has %d of %d objects", s, n, want)
		}
		return err
	})
}

// onePercent returns a selector of about one in a hundred of the server's pods, and how
// many those are.
func onePercent(n int) (labels.Selector, int) {
	counts := map[string]int{}
	for p := range objects.New(objects.Options{Seed: 1}).Pods(n) {
		counts[p.Labels[partOf]]++
	}
	delete(counts, "")
	far := func(part string) int { return max(counts[part]-n/100, n/100-counts[part]) }
	part := slices.MinFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return far(a) - far(b) })
	return labels.SelectorFromSet(labels.Set{partOf: part}), counts[part]
}

const partOf = "app.kubernetes.io/part-of"

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
