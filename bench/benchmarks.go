package main

import (
	"fmt"
	"slices"
	"strings"
)

// benchmarks is everything that is measured, in the order in which it runs. The
// limits are ratios to client-go with its defaults; to add a row, add it here, and
// have the work measure the metric.
func benchmarks(n int) []benchmark {
	all := []benchmark{syncPodsBenchmark(), warmBenchmark(), writesBenchmark(), relistBenchmark(), readsBenchmark()}
	all = append(all, customBenchmarks()...)
	all = append(all, updatesBenchmarks(n)...)
	all = append(all, askedBenchmark(n))
	all = append(all, contentionBenchmarks()...)
	all = append(all, controllerBenchmarks()...)
	all = append(all, controllerManagerBenchmarks()...)
	return append(all, growthBenchmark(n), weightBenchmark())
}

func syncPodsBenchmark() benchmark {
	work := func(side string, read bool) task { return task{Work: "sync-pods", Side: side, Read: read} }
	return benchmark{
		name: "sync-pods", title: "first sync of pods", server: podServer,
		text: "From nothing until one handler has seen every pod. client-go decodes every object whatever its handler does, so that its one run stands against both of kinform's. " +
			"Memory held is the live heap plus the packed bytes outside of it; resident memory is what the system sees after garbage was given back, whole slabs and the runtime included.",
		sides: []side{
			{name: "client-go", task: work(clientGo, true)},
			{name: "kinform, handler reads each object", task: work(kinformTyped, true)},
			{name: "kinform, handler uses only keys", task: work(kinformTyped, false)},
			{name: "kinform's drop-in, handler reads each object", task: work(kinformDropIn, true)},
			{name: "client-go with LIST", task: work(clientGo, true), env: []string{"KUBE_FEATURE_WatchListClient=false"}},
			{name: "kinform's drop-in on a tuned configuration", task: work(kinformTuned, true)},
			{name: "kinform's drop-in, lists not compressed", task: work(kinformPlain, true)},
			{name: "kinform, handler reads four fields", task: work(kinformFields, true)},
		},
		rows: []row{
			{side: 1, title: "time", metric: "time", unit: inSeconds, limit: 1 / 2.5},
			{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 4},
			{side: 1, title: "peak RSS", metric: "peak", unit: inBytes, limit: 1. / 10},
			{side: 1, title: "held per object", metric: "held per object", unit: inBytes, limit: 1. / 25},
			{side: 1, title: "resident per object", metric: "resident per object", unit: inBytes},
			{side: 2, title: "time", metric: "time", unit: inSeconds, limit: 1 / 2.5},
			{side: 2, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 6},
			{side: 2, title: "peak RSS", metric: "peak", unit: inBytes, limit: 1. / 10},
			{side: 2, title: "held per object", metric: "held per object", unit: inBytes, limit: 1. / 25},
			{side: 2, title: "resident per object", metric: "resident per object", unit: inBytes},
			{side: 2, title: "RSS before it began", metric: "idle", unit: inBytes},
			{side: 3, title: "time", metric: "time", unit: inSeconds},
			{side: 3, title: "CPU", metric: "cpu", unit: inSeconds},
			{side: 3, title: "CPU of the server", metric: "server cpu", unit: inSeconds},
			{side: 3, title: "peak RSS", metric: "peak", unit: inBytes},
			{side: 3, title: "resident per object", metric: "resident per object", unit: inBytes},
			{side: 4, title: "time", metric: "time", unit: inSeconds},
			{side: 4, title: "CPU", metric: "cpu", unit: inSeconds},
			{side: 4, title: "peak RSS", metric: "peak", unit: inBytes},
			{side: 5, title: "time", metric: "time", unit: inSeconds},
			{side: 5, title: "CPU", metric: "cpu", unit: inSeconds},
			{side: 5, title: "CPU of the server", metric: "server cpu", unit: inSeconds},
			{side: 6, title: "time", metric: "time", unit: inSeconds},
			{side: 6, title: "CPU", metric: "cpu", unit: inSeconds},
			{side: 6, title: "CPU of the server", metric: "server cpu", unit: inSeconds},
			{side: 7, title: "time", metric: "time", unit: inSeconds, limit: 1 / 2.5},
			{side: 7, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 6},
			{side: 7, title: "peak RSS", metric: "peak", unit: inBytes, limit: 1. / 15},
			{side: 7, title: "held per object", metric: "held per object", unit: inBytes, limit: 1. / 25},
		},
	}
}

func relistBenchmark() benchmark {
	return benchmark{
		name: "relist", title: "relist of unchanged pods", server: podServer,
		text: "The watch is cut and the next one answered with 410 Gone, so that everything is listed again; one pod has changed. " +
			"Time is from then until the handler is called for that pod, the wait that each client makes after a failure included. " +
			"Extra peak memory is the highest RSS meanwhile over the RSS before.",
		sides: []side{
			{name: "client-go", task: task{Work: "relist", Side: clientGo}},
			{name: "kinform", task: task{Work: "relist", Side: kinformTyped}},
		},
		rows: []row{
			{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 5},
			{side: 1, title: "extra peak memory", metric: "extra peak", unit: inBytes, limit: 1. / 20},
			{side: 1, title: "time", metric: "time", unit: inSeconds},
		},
	}
}

func readsBenchmark() benchmark {
	return benchmark{
		name: "reads", title: "reads of pods", server: podServer,
		text: "Listers and indexer of the informer factories, client-go's and the drop-in, and those of package kinform, which yields what the others collect. After a sync kinform's objects are packed: the first List decodes them all.",
		sides: []side{
			{name: "client-go", task: task{Work: "reads", Side: clientGo}},
			{name: "kinform's drop-in", task: task{Work: "reads", Side: kinformDropIn}},
			{name: "kinform", task: task{Work: "reads", Side: kinformTyped}},
		},
		rows: []row{
			{side: 1, title: "Get, resident", metric: "get", unit: inSeconds, limit: 1.2},
			{side: 1, title: "List of all, resident", metric: "list", unit: inSeconds, limit: 1},
			{side: 1, title: "ByIndex, resident", metric: "by index", unit: inSeconds, limit: 1},
			{side: 1, title: "List of all, packed: the first", metric: "first list", unit: inSeconds},
			{side: 1, title: "List of all, packed: the second", metric: "second list", unit: inSeconds, limit: 1.2},
			{side: 1, title: "List of 1 %, packed: the first", metric: "first choice", unit: inSeconds},
			{side: 1, title: "List of 1 %, packed: the second", metric: "second choice", unit: inSeconds},
			{side: 1, title: "List of 1 %, again", metric: "choice", unit: inSeconds, limit: 1},
			{side: 2, title: "Select of 1 %, packed: the first", metric: "first choice", unit: inSeconds},
			{side: 2, title: "Select of 1 %, again", metric: "choice", unit: inSeconds, limit: 1},
			{side: 2, title: "Get, resident", metric: "get", unit: inSeconds, limit: 1.2},
			{side: 2, title: "All, resident", metric: "list", unit: inSeconds, limit: 1},
			{side: 2, title: "Index.Get, resident", metric: "by index", unit: inSeconds, limit: 1},
			{side: 2, title: "All, packed: the first", metric: "first list", unit: inSeconds},
			{side: 2, title: "All, packed: the second", metric: "second list", unit: inSeconds}, // only the third is kept for: the first may have been a single sweep
		},
	}
}

func customBenchmarks() []benchmark {
	var all []benchmark
	for _, k := range []struct{ kind, title, text string }{
		{"typed", "first sync of custom resources, Go structs", "In JSON. client-go with a typed client as the code generators make it, kinform with the same Go type."},
		{"unstructured", "first sync of custom resources, unstructured", "In JSON. client-go's dynamic informer, kinform with unstructured objects."},
		{"both", "first sync of custom resources, both at once", "One reader of Go structs and one of unstructured objects in one process: two informers of client-go's, one watch of kinform's with two views."},
	} {
		work := func(side string, read bool) task {
			return task{Work: "sync-custom", Kind: k.kind, Side: side, Read: read}
		}
		all = append(all, benchmark{
			name: "custom-" + k.kind, title: k.title, text: k.text, server: customServer,
			sides: []side{
				{name: "client-go", task: work(clientGo, true)},
				{name: "kinform, handler uses only keys", task: work(kinformTyped, false)},
				{name: "kinform, handler reads each object", task: work(kinformTyped, true)},
			},
			rows: []row{
				{side: 1, title: "CPU", metric: "cpu", unit: inSeconds, limit: 1. / 8},
				{side: 1, title: "peak RSS", metric: "peak", unit: inBytes, limit: 1. / 10},
				{side: 1, title: "time", metric: "time", unit: inSeconds},
				{side: 1, title: "held per object", metric: "held per object", unit: inBytes},
				{side: 1, title: "RSS before it began", metric: "idle", unit: inBytes},
				{side: 2, title: "CPU", metric: "cpu", unit: inSeconds},
				{side: 2, title: "peak RSS", metric: "peak", unit: inBytes},
				{side: 2, title: "time", metric: "time", unit: inSeconds},
			},
		})
	}
	return all
}

// askedBenchmark is of handlers that have no use for most updates.
func askedBenchmark(n int) benchmark {
	work := func(side string) task {
		return task{Work: "updates", Kind: asks, Side: side, Handlers: 50, Updates: n / 5, Objects: updatedPods, Read: true}
	}
	return benchmark{
		name: "updates-asked", title: "updates of pods, 50 handlers that ask whether the spec changed", server: replayServer,
		text: "As before, but each handler first compares the old spec with the new one, and is done if they are equal, which they are: client-go's with equality.Semantic.DeepEqual, kinform's with Event.Changed.",
		sides: []side{
			{name: "client-go", task: work(clientGo)},
			{name: "kinform", task: work(kinformTyped)},
		},
		rows: []row{
			{side: 1, title: "updates delivered to each handler, per second", metric: "updates/s", unit: perSecond, limit: 10, more: true},
			{side: 1, title: "CPU per update", metric: "cpu per update", unit: inSeconds},
			{side: 1, title: "allocations per update", metric: "mallocs", unit: plain},
			{side: 1, title: "calls per handler and update", metric: "calls", unit: plain, more: true},
		},
	}
}

func updatesBenchmarks(n int) []benchmark {
	var all []benchmark
	for _, k := range []struct {
		handlers int
		limit    float64
	}{{1, 2}, {10, 4}, {50, 10}} {
		work := func(side string) task {
			return task{Work: "updates", Side: side, Handlers: k.handlers, Updates: 2 * n, Objects: updatedPods, Read: true}
		}
		b := benchmark{
			name: fmt.Sprintf("updates-%d", k.handlers), title: fmt.Sprintf("updates of pods, handlers: %d", k.handlers), server: replayServer,
			text: fmt.Sprintf("%s updates of 1,000 pods, sent as fast as the socket takes them, until every handler has seen the last, old and new object given. client-go keeps every update for a handler that is slow, in memory without bound; kinform merges those of one object when more than a thousand wait, so that its handlers may be called less often: what was merged does not count as delivered.", thousands(2*float64(n))),
			sides: []side{
				{name: "client-go", task: work(clientGo)},
				{name: "kinform's drop-in", task: work(kinformDropIn)},
			},
			rows: []row{
				{side: 1, title: "updates delivered to each handler, per second", metric: "updates/s", unit: perSecond, limit: k.limit, more: true},
				{side: 1, title: "CPU per update", metric: "cpu per update", unit: inSeconds},
				{side: 1, title: "allocations per update", metric: "mallocs", unit: plain},
				{side: 1, title: "updates taken in per second", metric: "taken in/s", unit: perSecond, more: true},
				{side: 1, title: "calls per handler and update", metric: "calls", unit: plain, more: true},
			},
		}
		if k.handlers == 1 {
			b.rows[2].limit = 1. / 3
			keys := work(kinformTyped)
			keys.Read = false
			feed := work("the feed")
			feed.Work = "drain"
			b.sides = append(b.sides, side{name: "kinform, handler uses only keys", task: keys}, side{name: "nobody: read and thrown away", task: feed})
			b.rows = append(b.rows,
				row{side: 2, title: "updates per second", metric: "updates/s", unit: perSecond, more: true},
				row{side: 2, title: "allocations per update", metric: "mallocs", unit: plain},
				row{side: 3, title: "updates per second", metric: "updates/s", unit: perSecond, more: true},
			)
		}
		all = append(all, b)
	}
	return all
}

func contentionBenchmarks() []benchmark {
	two := func(work, kind string) []side {
		return []side{
			{name: "client-go", task: task{Work: work, Kind: kind, Side: clientGo}},
			{name: "kinform's drop-in", task: task{Work: work, Kind: kind, Side: kinformDropIn}},
		}
	}
	gets := []row{
		{side: 1, title: "slowest Get", metric: "get slowest", unit: inSeconds, limit: 1. / 100},
		{side: 1, title: "Get, 99.9%", metric: "get 99.9%", unit: inSeconds},
		{side: 1, title: "Get, mean", metric: "get mean", unit: inSeconds},
		{side: 1, title: "Gets measured", metric: "get calls", unit: plain, more: true},
	}
	all := []benchmark{{
		name: "replace-relist", title: "Get while a relist changes all pods", server: replayServer, sides: two("replace-list", ""),
		rows: append(slices.Clip(gets), row{side: 1, title: "slowest copy of a pod of its own", metric: "copy slowest", unit: inSeconds}),
		text: "Two goroutines call Get in a loop with a short pause, on an informer of the factories, until every new state was delivered to its handler. " +
			"The slowest Get of each of three relists; the median counts. A third goroutine copies a pod that nobody else has: the slowest copy is what anything waits for that needs no lock.",
	}}
	for _, k := range []struct{ kind, title string }{{"informer", "the indexer of a shared informer"}, {"store", "an indexer on its own"}} {
		all = append(all,
			benchmark{
				name: "replace-" + k.kind, title: "Get while Replace changes all pods, " + k.title, sides: two("replace", k.kind), rows: gets,
				text: "Two goroutines call Get in a loop with a short pause. The slowest Get of each of nine replacements; the median counts.",
			},
			benchmark{
				name: "lists-" + k.kind, title: "Update while two list without end, " + k.title, sides: two("update-list", k.kind),
				text: "Updates, one after the other with a short pause, while two goroutines do nothing but List.",
				rows: []row{
					{side: 1, title: "Update, mean", metric: "update mean", unit: inSeconds, limit: 1. / 10},
					{side: 1, title: "Update, 99%", metric: "update 99%", unit: inSeconds},
					{side: 1, title: "lists per second meanwhile", metric: "lists/s", unit: perSecond, more: true},
				},
			})
	}
	return all
}

// growthName is the benchmark that is a table of its own.
const growthName = "growth"

func growthBenchmark(n int) benchmark {
	sizes := []int{n / 50, n / 5, n}
	if *million {
		sizes = []int{10_000, 100_000, 1_000_000}
	}
	b := benchmark{
		name: growthName, title: "growth", server: simServer, grows: true, once: true,
		text: "One informer of pods from the simulated server, with indexes by namespace and node and one handler, in a process of its own. One run for each size. " +
			"The larger the cluster, the more workloads (n/300, at least 300) and nodes (n/100, at least 100). Reads are of packed objects unless they are said to be resident. " +
			"ByIndex and the selector give keys.",
		rows: []row{
			{title: "time to sync", metric: "time", unit: inSeconds},
			{title: "CPU", metric: "cpu", unit: inSeconds},
			{title: "peak RSS", metric: "peak", unit: inBytes},
			{title: "RSS after the sync", metric: "resident", unit: inBytes},
			{title: "RSS, garbage given back", metric: "settled", unit: inBytes},
			{title: "sent per object", metric: "sent per object", unit: inBytes},
			{title: "packed per object", metric: "packed per object", unit: inBytes},
			{title: "Get, packed", metric: "get packed", unit: inSeconds},
			{title: "Get, resident", metric: "get", unit: inSeconds},
			{title: "ByIndex, one node", metric: "by index", unit: inSeconds},
			{title: "pods of one node", metric: "by index found", unit: plain},
			{title: "label selector, first 100", metric: "select 100", unit: inSeconds},
			{title: "label selector, all counted", metric: "select and count", unit: inSeconds},
			{title: "pods that match", metric: "matches", unit: plain},
		},
	}
	for i, size := range sizes {
		b.sides = append(b.sides, side{name: thousands(float64(size)), task: task{Work: "growth", Side: kinformTyped, Objects: size}})
		if size == 1_000_000 {
			b.rows = append([]row{{side: i, title: "RSS of a million pods", metric: "resident", unit: inBytes, limit: 1 << 30, absolute: true}}, b.rows...)
		}
	}
	return b
}

func weightBenchmark() benchmark {
	return benchmark{
		name: "weight", title: "weight of the smallest program", once: true,
		text: "A program with one informer of pods, with client-go's clientset and informers, and with kinform: packages that it is built of, size of the binary (stripped), CPU seconds of go build with an empty cache.",
		sides: []side{
			{name: "client-go", task: task{Work: "weight", Side: clientGo}},
			{name: "kinform", task: task{Work: "weight", Side: kinformTyped}},
		},
		rows: []row{
			{side: 1, title: "packages", metric: "packages", unit: plain},
			{side: 1, title: "binary", metric: "binary", unit: inBytes},
			{side: 1, title: "go build, CPU", metric: "build", unit: inSeconds},
		},
	}
}

// updatesOf returns how many handlers a benchmark of updates has, if it is one.
func updatesOf(name string) (handlers string, ok bool) { return strings.CutPrefix(name, "updates-") }
