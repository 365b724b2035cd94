package cache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// ensemble is several informers of one server. Client-go's have a watch each;
// kinform's share one, as the factories' do on one HTTP client. None may notice.
type ensemble struct {
	informers []story // options, and what happens before the informer runs
	times     bool    // the moments of the calls are compared
	edits     bool    // the program writes to a store: its version is left out
	script    []act
}

// act happens at once, and then time passes.
type act struct {
	does   string
	do     []func([]*player)
	passes time.Duration
}

// of has one of the informers do something.
func of(i int, do ...func(*player)) func([]*player) {
	return func(all []*player) {
		for _, f := range do {
			f(all[i])
		}
	}
}

// onServer changes the server of all.
func onServer(changes ...func(*server)) func([]*player) {
	return func(all []*player) { all[0].server.do(changes...) }
}

// runAll runs every informer that does not run yet.
func runAll(all []*player) {
	for _, p := range all {
		if p.ended == nil {
			run(p)
		}
	}
}

// sharing returns what lists and watches a server for informers that share.
func sharing(t *testing.T, s *server) cache.ListerWatcher {
	t.Helper()
	client, err := rest.RESTClientFor(&rest.Config{
		Host: "http://127.0.0.1:1", APIPath: "/api",
		ContentConfig: rest.ContentConfig{GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	// An HTTP client of its own is what tells the servers of two tests apart.
	own := *client.Client
	client.Client = &own
	source := byteSource{kube.NewObjectSource("pods", s)}
	return &dropin.ListWatch{
		ListerWatcher: s,
		Open:          func(dropin.Needs) engine.Source { return source },
		Decode:        dropin.DecodeTyped(&corev1.Pod{}),
		Needs:         dropin.Anything,
		Share:         dropin.ShareOf(client, kube.Query{Resource: corev1.SchemeGroupVersion.WithResource("pods")}),
	}
}

func (e ensemble) perform(t *testing.T, s side) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := newServer(newTrace())
		server.noWatchList = true
		server.do(three)
		lw := cache.ListerWatcher(server)
		if s.name == ours.name {
			lw = sharing(t, server)
		}
		var all []*player
		for _, n := range e.informers {
			p := &player{t: t, side: s, server: server, handlers: map[string]*listener{}, log: newTrace(), start: time.Now(), cancel: func() {}}
			n.options.Indexers = maps.Clone(n.options.Indexers)
			if n.options.Indexers == nil {
				n.options.Indexers = cache.Indexers{}
			}
			p.informer = s.make(lw, &corev1.Pod{}, n.options)
			if n.informer != nil {
				n.informer(p)
			}
			all = append(all, p)
		}
		for _, sc := range e.script {
			lines = append(lines, "--- "+sc.does)
			for _, do := range sc.do {
				do(all)
			}
			time.Sleep(sc.passes)
			lines = append(lines, e.rest(t, s, all)...)
		}
		for _, p := range all {
			stop(p)
		}
		synctest.Wait()
		for _, p := range all {
			letAll(p) // before any is waited for: see docs/differences.md
		}
		for _, p := range all {
			if p.ended != nil {
				<-p.ended
			}
		}
		lines = append(lines, "--- stopped")
		lines = append(lines, e.rest(t, s, all)...)
	})
	return lines
}

var (
	watchCount = regexp.MustCompile(`watches=\d+ `)
	aboutStore = regexp.MustCompile(`^(store|index|synced=)`)
)

// rest tells what happened to each, and how each stands. Of one that was stopped the
// store is left out: see docs/differences.md.
func (e ensemble) rest(t *testing.T, s side, all []*player) (lines []string) {
	t.Helper()
	synctest.Wait()
	n := story{quiet: true, times: e.times, edits: e.edits}
	running := 0
	for i, p := range all {
		if p.ended != nil && !p.informer.IsStopped() {
			running++
		}
		told := p.rest(n)
		if p.informer.IsStopped() {
			told = slices.DeleteFunc(told, aboutStore.MatchString)
			told = append(told, fmt.Sprintf("synced=%t stopped=%t", p.informer.HasSynced(), p.informer.IsStopped()))
		}
		for _, line := range told {
			lines = append(lines, fmt.Sprintf("%d: %s", i, watchCount.ReplaceAllString(line, "")))
		}
	}
	want := running
	if s.name == ours.name {
		want = min(running, 1)
	}
	if got := all[0].server.openWatches(); got != want {
		t.Errorf("%s: %d informers run on %d watches, want %d", s.name, running, got, want)
	}
	return lines
}

func (e ensemble) compare(t *testing.T) {
	t.Helper()
	want, got := e.perform(t, theirs), e.perform(t, ours)
	if !slices.Equal(want, got) {
		t.Errorf("client-go (-) and kinform (+) differ:\n%s", lineDiff(want, got))
	}
}

// trio are three informers that have nothing in common but what they select.
var trio = []story{
	{informer: joins, options: cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byApp}}},
	{informer: func(p *player) { setTransform(transform)(p); join("h")(p); join("i")(p) },
		options: cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byNames}}},
	{},
}

var ensembles = map[string]ensemble{
	"one after the other": {informers: trio, script: []act{
		{"nobody runs", nil, settled},
		{"the first", []func([]*player){of(0, run)}, settled},
		{"changes", []func([]*player){onServer(put("a"), put("d", "app", "web"), remove("b"))}, settled},
		{"the second", []func([]*player){of(1, run)}, settled},
		{"changes", []func([]*player){onServer(put("b"), put("d", "app", "db"), remove("a"))}, settled},
		{"the third, and a handler", []func([]*player){of(2, run), of(2, join("late"))}, settled},
		{"changes", []func([]*player){onServer(put("a"), remove("d"), put("d"))}, settled},
	}},
	"one stops while others go on": {informers: trio, script: []act{
		{"all", []func([]*player){runAll}, settled},
		{"the first stops", []func([]*player){of(0, stop)}, settled},
		{"changes", []func([]*player){onServer(put("a"), put("d"), remove("b"))}, settled},
		{"handlers and indexes, too late for the first", []func([]*player){of(0, join("late"), addIndex("late", byApp)), of(1, join("late"), addIndex("late", byApp))}, settled},
		{"the second stops", []func([]*player){of(1, stop)}, settled},
		{"changes", []func([]*player){onServer(put("a"), remove("c"))}, settled},
		{"the third stops", []func([]*player){of(2, stop)}, settled},
		{"changes that nobody hears of", []func([]*player){onServer(put("a"))}, settled},
	}},
	"all stop, and another one begins": {informers: trio, script: []act{
		{"two", []func([]*player){of(0, run), of(1, run)}, settled},
		{"they stop", []func([]*player){of(0, stop), of(1, stop)}, settled},
		{"changes", []func([]*player){onServer(put("a"), remove("b"), put("d"))}, settled},
		{"the third", []func([]*player){of(2, join("h")), of(2, run)}, long},
		{"changes", []func([]*player){onServer(put("a"), remove("c"))}, settled},
	}},
	"handlers come, go and are slow": {informers: trio, script: []act{
		{"all", []func([]*player){runAll}, settled},
		{"hold", []func([]*player){of(0, hold("h"))}, settled},
		{"changes", []func([]*player){onServer(put("a"), put("b"), remove("c"), put("a"))}, settled},
		{"join and leave", []func([]*player){of(1, leave("i")), of(2, join("late"))}, settled},
		{"changes", []func([]*player){onServer(put("c"), remove("a"))}, settled},
		{"let", []func([]*player){of(0, let("h"))}, settled},
	}},
	"indexes of the same name": {informers: trio, script: []act{
		{"before", []func([]*player){of(2, addIndex("app", byApp))}, settled},
		{"all", []func([]*player){runAll}, settled},
		{"one more each", []func([]*player){of(0, addIndex("more", byApp)), of(1, addIndex("more", byNames)), of(2, addIndex("app", byNames))}, settled},
		{"changes", []func([]*player){onServer(put("a", "app", "x"), put("b"), remove("c"))}, settled},
	}},
	"disconnects and relists": {informers: trio, script: []act{
		{"all", []func([]*player){runAll}, settled},
		{"disconnect", []func([]*player){onServer(disconnect, put("a"), remove("b"))}, settled},
		{"relist", []func([]*player){onServer(disconnect, put("a"), put("b"), remove("c"), put("e"), forget)}, long},
		{"expired", []func([]*player){onServer(breakWith(expired()), remove("e"), put("a"))}, long},
		{"changes", []func([]*player){onServer(put("a"), put("c"))}, settled},
	}},
	"resyncs of their own": {times: true, informers: []story{
		{informer: joins, options: cache.SharedIndexInformerOptions{ResyncPeriod: 7 * time.Second}},
		{informer: joins, options: cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second}},
		{informer: joins},
	}, script: []act{
		{"all", []func([]*player){runAll}, 30 * time.Second},
		{"changes", []func([]*player){onServer(put("a"), remove("b"))}, 31 * time.Second},
		{"the first stops", []func([]*player){of(0, stop)}, 30 * time.Second},
	}},
	"stores that are filled before": {edits: true, informers: trio, script: []act{
		{"fill", []func([]*player){of(2, edit(func(x cache.Indexer) error { return x.Add(pod("x", 1)) }))}, settled},
		{"the others", []func([]*player){of(0, run), of(1, run)}, settled},
	}},
}

func TestInformersThatShareAreAsClientGosThatDoNot(t *testing.T) {
	for name, e := range ensembles {
		t.Run(name, e.compare)
	}
}

// TestLastToStopWaitsForAll is a row of docs/differences.md: of informers that
// share, the last one to stop returns when the handlers of all of them have.
func TestLastToStopWaitsForAll(t *testing.T) {
	for _, s := range []side{theirs, ours} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(newTrace())
			server.noWatchList = true
			server.do(three)
			lw := cache.ListerWatcher(server)
			if s.name == ours.name {
				lw = sharing(t, server)
			}
			var all []*player
			for range 2 {
				p := &player{t: t, side: s, server: server, handlers: map[string]*listener{}, log: newTrace(), start: time.Now()}
				p.informer = s.make(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
				join("h")(p)
				run(p)
				all = append(all, p)
			}
			synctest.Wait()
			hold("h")(all[0])
			server.do(put("a"))
			synctest.Wait()
			stop(all[0])
			time.Sleep(settled)
			stop(all[1])
			time.Sleep(settled)
			if want := s.name == theirs.name; all[0].hasEnded() || all[1].hasEnded() != want {
				t.Errorf("%s: the one with the slow handler has ended: %t; the other: %t, want %t", s.name, all[0].hasEnded(), all[1].hasEnded(), want)
			}
			letAll(all[0])
			<-all[0].ended
			<-all[1].ended
		})
	}
}

// TestRandomEnsemblesAreAsClientGos: whatever three informers do, in whatever order.
func TestRandomEnsemblesAreAsClientGos(t *testing.T) {
	forSeeds(t, 60, func(t *testing.T, random *rand.Rand) {
		r := randomStory{Rand: random, listOnly: true}
		e := ensemble{informers: trio, script: []act{{"begin", []func([]*player){of(0, run)}, settled}}}
		for range 20 {
			e.script = append(e.script, r.act())
		}
		e.compare(t)
	})
}

func (r randomStory) act() act {
	i, who := r.IntN(3), r.who()
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		return act{"changes", []func([]*player){onServer(r.changes(1 + r.IntN(4))...)}, settled}
	case 4:
		return act{"disconnect", []func([]*player){onServer(append([]func(*server){disconnect}, r.changes(r.IntN(4))...)...)}, settled}
	case 5:
		return act{fmt.Sprintf("%d: %s joins", i, who), []func([]*player){of(i, joinOnce(who))}, settled}
	case 6:
		return act{fmt.Sprintf("%d: %s leaves", i, who), []func([]*player){of(i, leave(who))}, settled}
	case 7:
		index := fmt.Sprintf("index%d", r.IntN(2))
		return act{fmt.Sprintf("%d: add %s", i, index), []func([]*player){of(i, addIndex(index, byNames))}, settled}
	case 8:
		// Once it runs: which of the initial objects comes first is a row of
		// docs/differences.md, and shows where a handler is held in the middle of them.
		return act{fmt.Sprintf("%d: %s is held", i, who), []func([]*player){func(all []*player) {
			if all[i].ended != nil {
				hold(who)(all[i])
			}
		}}, settled}
	case 9:
		return act{fmt.Sprintf("%d: %s is let", i, who), []func([]*player){of(i, let(who))}, settled}
	case 10:
		return act{fmt.Sprintf("%d stops", i), []func([]*player){of(i, stop)}, settled}
	}
	return act{fmt.Sprintf("%d runs", i), []func([]*player){func(all []*player) {
		if all[i].ended == nil {
			run(all[i])
		}
	}}, settled}
}
