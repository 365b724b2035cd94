package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/kinform/kinform/bench/programs"
	"github.com/kinform/kinform/test/apiserver/servers"
)

// The sides of kube-controller-manager.
const (
	stockProgram   = "client-go"
	swappedProgram = "kinform's factories"
)

// builds are the two sides of a program of Kubernetes.
func builds(t task, p programs.Program) []side {
	stock, swapped := t, t
	stock.Side, swapped.Side = stockProgram, swappedProgram
	return []side{
		{name: stockProgram, task: stock, build: func(ctx context.Context, b programs.Builder) (string, error) { return b.Stock(ctx, p) }},
		{name: swappedProgram, task: swapped, build: func(ctx context.Context, b programs.Builder) (string, error) { return b.Swapped(ctx, p) }},
	}
}

// podsText says what the pods are like, and how the controllers read them.
func podsText() string {
	const lists = "lists all pods every 20 s"
	if *loosePods {
		return "The pods have neither node nor owner. The program " + lists + "."
	}
	return "The pods belong to 300 ReplicaSets and run on 100 nodes. The program reads the pods of each node by an index every 5 s, and " + lists + "."
}

// managedRows are reported of each program that has many pods.
var managedRows = []row{
	{side: 1, title: "peak RSS", metric: "peak", unit: inBytes},
	{side: 1, title: "CPU of the start", metric: "cpu start", unit: inSeconds},
	{side: 1, title: "CPU of updates", metric: "cpu updates", unit: inSeconds},
	{side: 1, title: "CPU while idle", metric: "cpu idle", unit: inSeconds},
	{side: 1, title: "CPU of the server", metric: "server cpu", unit: inSeconds},
	{side: 1, title: "requests to the server", metric: "requests", unit: plain},
	{side: 1, title: "lists among them", metric: "requests list", unit: plain},
	{side: 1, title: "watches among them", metric: "requests watch", unit: plain},
}

func controllerManagerBenchmarks() []benchmark {
	return []benchmark{
		{
			name: "controller-manager-pods", title: "a real program: kube-controller-manager, many pods", server: clusterServer,
			text: "kube-controller-manager " + servers.Kubernetes + " as it is, and with its two informer factories swapped for kinform's, all controllers running. " +
				podsText() + " Before anything is measured the stock program has brought the cluster to rest. " +
				"After the start is when it is quiet, 30 s later at least. " +
				"Then a twentieth of the pods become unready and ready again. Idle is the mean of the last minute of " + idleTime.String() + " in which nothing changes. " +
				"Memory is the process's resident memory as the system counts it, nothing given back on demand.",
			sides: builds(task{Work: "managed-pods"}, programs.ControllerManager),
			rows: append([]row{
				{side: 1, title: "RSS after the start", metric: "rss start", unit: inBytes, limit: 1. / 4},
				{side: 1, title: "RSS after updates", metric: "rss updates", unit: inBytes},
				{side: 1, title: "RSS, idle", metric: "rss idle", unit: inBytes, limit: 1. / 2},
				{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 0.8},
			}, managedRows...),
		},
		{
			name: "scheduler", title: "a real program: kube-scheduler, many pods", server: scheduledServer, once: true,
			text:  "The same with kube-scheduler, on the same cluster. It reads in another way: it keeps each pod that a handler is given in a cache of its own, decoded, for as long as the pod runs.",
			sides: builds(task{Work: "managed-pods"}, programs.Scheduler),
			rows: append([]row{
				{side: 1, title: "RSS after the start", metric: "rss start", unit: inBytes},
				{side: 1, title: "RSS after updates", metric: "rss updates", unit: inBytes},
				{side: 1, title: "RSS, idle", metric: "rss idle", unit: inBytes},
				{side: 1, title: "CPU", metric: "cpu", unit: inSeconds},
			}, managedRows...),
		},
		{
			name: "controller-manager-living", title: "a real program: kube-controller-manager, a living cluster", server: livingServer,
			text: "The same two programs on an empty cluster in which, twice over, 40 deployments with services and 24 jobs are made, scaled, rolled out and deleted with their namespaces. " +
				"Each step waits until the controllers have done their part. There are no kubelets: the benchmark reports the pods as running, those of jobs as done.",
			sides: builds(task{Work: "controllers-living"}, programs.ControllerManager),
			rows: []row{
				{side: 1, title: "RSS, mean", metric: "rss mean", unit: inBytes, limit: 1},
				{side: 1, title: "RSS after the start", metric: "rss start", unit: inBytes},
				{side: 1, title: "RSS at the end", metric: "rss end", unit: inBytes, limit: 1},
				{side: 1, title: "peak RSS", metric: "peak", unit: inBytes},
				{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1},
				{side: 1, title: "time of the story", metric: "time", unit: inSeconds},
				{side: 1, title: "requests to the server", metric: "requests", unit: plain},
				{side: 1, title: "lists among them", metric: "requests list", unit: plain},
				{side: 1, title: "watches among them", metric: "requests watch", unit: plain},
			},
		},
	}
}

// start starts the program that is measured.
func (t task) start(ctx context.Context) (*managed, error) {
	flags := []string{"--profiling=true"}
	if filepath.Base(t.Program) == programs.ControllerManager.Name {
		flags = append(flags,
			"--kube-api-qps=100", "--kube-api-burst=200",
			// There are no kubelets whose silence could mean anything.
			"--node-monitor-grace-period=24h",
		)
	}
	return startManaged(ctx, t.Server, t.Program, flags...)
}

// settleCluster has the program bring a cluster to rest, so that no side finds work
// that the other has done.
func settleCluster(ctx context.Context, t task) (metrics, error) {
	m, err := t.start(ctx)
	if err != nil {
		return nil, err
	}
	err = m.pause(ctx, 20*time.Second)
	if err == nil {
		err = m.waitQuiet(ctx)
	}
	return metrics{}, errors.Join(err, m.stop())
}

// managedPods measures the program with many pods: its start, updates, and rest.
func managedPods(ctx context.Context, t task) (metrics, error) {
	count, err := countRequests(t)
	if err != nil {
		return nil, err
	}
	m, err := t.start(ctx)
	if err != nil {
		return nil, err
	}
	out := metrics{}
	err = m.podStory(ctx, t, out)
	out["peak"], out["cpu"] = m.peak(), m.cpu()
	return out, errors.Join(err, m.stop(), count.end(out))
}

func (m *managed) podStory(ctx context.Context, t task, out metrics) error {
	if err := m.profiled(ctx, t, "start", 25*time.Second, func() error {
		if err := m.pause(ctx, time.Until(m.began.Add(30*time.Second))); err != nil {
			return err
		}
		return m.waitQuiet(ctx)
	}); err != nil {
		return err
	}
	out["rss start"], out["cpu start"] = m.resident(), m.cpu()
	if err := m.profiled(ctx, t, "updates", 15*time.Second, func() error {
		if err := updatePods(ctx, t); err != nil {
			return err
		}
		return m.waitQuiet(ctx)
	}); err != nil {
		return err
	}
	out["rss updates"], out["cpu updates"] = m.resident(), m.cpu()-out["cpu start"]
	samples, err := m.during(func() error {
		return m.profiled(ctx, t, "idle", 60*time.Second, func() error { return m.pause(ctx, t.Idle) })
	})
	if err != nil {
		return err
	}
	out["rss idle"], out["cpu idle"] = samples.last(60).mean(), m.cpu()-out["cpu start"]-out["cpu updates"]
	return m.profile(ctx, t, "live-heap", livingHeap)
}

// livingHeap has the program collect its garbage first. Only the last profile may: the
// others, which are of the last collection, must not change what is measured after them.
const livingHeap = "/debug/pprof/heap?gc=1"

// profiled does a step, with a profile of its CPU while it lasts and one of the heap
// after it, if profiles are wanted.
func (m *managed) profiled(ctx context.Context, t task, step string, d time.Duration, do func() error) error {
	if t.Profile == "" {
		return do()
	}
	done := make(chan error, 1)
	go func() {
		done <- m.profile(ctx, t, step+"-cpu", "/debug/pprof/profile?seconds="+wholeSeconds(d))
	}()
	err := do()
	return errors.Join(err, <-done, m.profile(ctx, t, step+"-heap", "/debug/pprof/heap"))
}
