// Package objects makes Kubernetes objects that look like those of a real
// cluster, for tests, benchmarks and the living cluster of apisim.
//
// Everything is a function of the seed: the same options give the same
// objects, byte for byte, on every machine, and the first n objects of a
// longer sequence are the shorter sequence. Objects of one owner are nearly
// equal, objects of different owners are not. References hold when enough objects
// are made: a Pod's owner is among the ReplicaSets, StatefulSets, DaemonSets and
// Jobs, its node among the Nodes, and Events and EndpointSlices name Pods.
//
// To save time, objects share memory with each other: an object may be read,
// encoded and its top-level fields replaced, but must be deep-copied before
// anything below them is changed.
//
// What may live here: generators that need neither a server nor a clock.
// What may not: anything that talks to a server (see apisim/cluster), and any
// knowledge of the packages under test.
package objects

import (
	"fmt"
	"iter"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Options choose the shape of the generated cluster. The zero value works.
type Options struct {
	// Seed decides everything that looks random.
	Seed int64
	// Workloads is the number of owners that Pods are spread over, the big
	// ones getting many and the small ones few. Default 300.
	Workloads int
	// Namespaces is the number of namespaces. Default 12.
	Namespaces int
	// Nodes is the number of nodes that pods run on. Default 100.
	Nodes int
	// NoManagedFields leaves metadata.managedFields out.
	NoManagedFields bool
	// Now is the time at which the cluster is looked at: nothing is younger.
	// The default is a fixed instant, so that the bytes do not depend on the clock.
	Now time.Time
}

func (o Options) withDefaults() Options {
	if o.Workloads <= 0 {
		o.Workloads = 300
	}
	if o.Namespaces <= 0 {
		o.Namespaces = 12
	}
	if o.Nodes <= 0 {
		o.Nodes = 100
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2026, time.March, 14, 9, 26, 53, 0, time.UTC)
	}
	return o
}

// Generator makes the objects of one imagined cluster. It is safe for
// concurrent use, and its sequences can be ranged over any number of times.
type Generator struct {
	opts      Options
	picker    picker
	workloads []func() *workload
}

// New returns the generator of the cluster that o describes.
func New(o Options) *Generator {
	o = o.withDefaults()
	g := &Generator{opts: o, picker: newPicker(o.Workloads)}
	for i := range o.Workloads {
		g.workloads = append(g.workloads, sync.OnceValue(func() *workload { return newWorkload(g, i) }))
	}
	return g
}

// Pods returns n pods of the default cluster with the given seed.
func Pods(seed int64, n int) iter.Seq[*corev1.Pod] {
	return New(Options{Seed: seed}).Pods(n)
}

// workload returns workload i, which may lie beyond those that own pods: a
// caller can ask for more Deployments than Options.Workloads.
func (g *Generator) workload(i int) *workload {
	if i < len(g.workloads) {
		return g.workloads[i]()
	}
	return newWorkload(g, i)
}

// namespace returns the name of namespace i, counted around.
func (g *Generator) namespace(i int) string {
	i %= g.opts.Namespaces
	base := namespaceNames[i%len(namespaceNames)]
	if round := i / len(namespaceNames); round > 0 {
		return fmt.Sprintf("%s-%d", base, round+1)
	}
	return base
}

// sequence turns a function of an index into the iterator over its first n values.
func sequence[T any](n int, at func(i int) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range n {
			if !yield(at(i)) {
				return
			}
		}
	}
}
