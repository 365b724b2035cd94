package main

// The sides that have controller-runtime's cache: its own, its own with kinform's
// informers, and kinform's.
const (
	controllerRuntime = "controller-runtime"
	controllerHook    = "controller-runtime, NewInformer"
	kinformController = "ctrlcache"
)

func controllerBenchmarks() []benchmark {
	sides := func(work, kind string) []side {
		var all []side
		for _, name := range []string{controllerRuntime, kinformController, controllerHook} {
			all = append(all, side{name: name, tag: "controllerruntime", task: task{Work: work, Side: name, Kind: kind}})
		}
		return all
	}
	syncRows := func(held float64) []row {
		return []row{
			{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 4},
			{side: 1, title: "time", metric: "time", unit: inSeconds},
			{side: 1, title: "peak RSS", metric: "peak", unit: inBytes},
			{side: 1, title: "held per object", metric: "held per object", unit: inBytes, limit: held},
			{side: 2, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1.5},
			{side: 2, title: "peak RSS", metric: "peak", unit: inBytes},
			{side: 2, title: "held per object", metric: "held per object", unit: inBytes, limit: 1. / 10},
		}
	}
	return []benchmark{
		{
			name: "controller-sync", title: "controller-runtime: first sync of pods", server: podServer,
			text:  "A cache of controller-runtime's with one handler of typed pods, which uses their keys: its own, kinform's, and its own with kinform's informers by `Options.NewInformer`, which get decoded objects.",
			sides: sides("controller-sync", "one"), rows: syncRows(1. / 20),
		},
		{
			name: "controller-three", title: "controller-runtime: first sync of pods, in three forms", server: podServer,
			text:  "The same with a handler each of typed, metadata-only and unstructured pods: three watches and three stores there, one here.",
			sides: sides("controller-sync", "three"), rows: syncRows(1. / 50),
		},
		{
			name: "controller-reads", title: "controller-runtime: reads of pods", server: podServer,
			text:  "What Get and List of a cache take when the objects are the caller's own. The third list is what it costs when all are read again and again.",
			sides: sides("controller-reads", ""),
			rows: []row{
				{side: 1, title: "Get of one object, again and again", metric: "get hot", unit: inSeconds, limit: 1.2},
				{side: 1, title: "Get of any object", metric: "get", unit: inSeconds, limit: 1.2},
				{side: 1, title: "allocations of a Get", metric: "get mallocs", unit: plain},
				{side: 1, title: "List by index", metric: "by index", unit: inSeconds, limit: 1},
				{side: 1, title: "allocations of a List by index", metric: "by index mallocs", unit: plain},
				{side: 1, title: "List of a namespace", metric: "namespace", unit: inSeconds},
				{side: 1, title: "List of all: the first", metric: "first list", unit: inSeconds, limit: 1},
				{side: 1, title: "List of all: the second", metric: "second list", unit: inSeconds, limit: 1},
				{side: 1, title: "List of all: the third", metric: "list", unit: inSeconds, limit: 1},
			},
		},
	}
}
