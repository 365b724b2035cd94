package cache_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// side is one of the two whose shared informers are compared.
type side struct {
	name     string
	make     func(cache.ListerWatcher, runtime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	waitSync func(<-chan struct{}, ...cache.InformerSynced) bool
}

var (
	theirs = side{"client-go", clientgo.NewSharedIndexInformerWithOptions, clientgo.WaitForCacheSync}
	ours   = side{"kinform", cache.NewSharedIndexInformerWithOptions, cache.WaitForCacheSync}
)

// story is a story: what a server and a program do, step by step, each once all
// that came of the one before has come to rest.
type story struct {
	options     cache.SharedIndexInformerOptions
	example     runtime.Object // default: a pod
	server      func(*server)  // before the first step
	informer    func(*player)  // before the informer runs
	watch       bool           // the server sends initial events, client-go's default
	listOnly    bool           // what happens differs with initial events
	times       bool           // the moments of the calls are compared
	ordered     bool           // so is the order of calls for different objects
	edits       bool           // the program writes to the store: its version is left out
	objectsOnly bool           // bytes do not tell what happens
	quiet       bool           // calls that tell nothing new are left out: see docs/differences.md
	errors      bool           // what the watch error handler hears is compared
	script      []moment
}

// moment happens at once, and then time passes.
type moment struct {
	does   string
	do     []func(*player)
	passes time.Duration
}

// player plays to one side.
type player struct {
	t        *testing.T
	side     side
	server   *server
	informer cache.SharedIndexInformer
	handlers map[string]*listener
	log      *trace // what is not a call of a handler
	start    time.Time
	cancel   context.CancelFunc
	ended    chan struct{} // nil: not run yet
}

// on makes a change of the server part of a moment.
func on(changes ...func(*server)) func(*player) {
	return func(p *player) { p.server.do(changes...) }
}

// perform plays the story to one side, and gives all that could be seen.
func (n story) perform(t *testing.T, s side) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &player{t: t, side: s, handlers: map[string]*listener{}, log: newTrace(), start: time.Now()}
		p.server = newServer(newTrace())
		p.server.noWatchList = !n.watch
		if n.server != nil {
			p.server.do(n.server)
		}
		if n.example == nil {
			n.example = &corev1.Pod{}
		}
		n.options.Indexers = maps.Clone(n.options.Indexers) // client-go adds to the caller's
		if n.options.Indexers == nil {
			n.options.Indexers = cache.Indexers{} // client-go cannot add to nil
		}
		p.informer = s.make(p.server, n.example, n.options)
		err := p.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *clientgo.Reflector, err error) {
			if n.errors {
				p.log.note("error of %s at %s: %v", r.TypeDescription(), r.LastSyncResourceVersion(), kindOf(err))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if n.informer != nil {
			n.informer(p)
		}
		run(p)
		for i, m := range n.script {
			now := n
			now.ordered = n.ordered && !(i == 0 && n.watch) // initial events have no order
			lines = append(lines, p.rest(now)...)
			lines = append(lines, "--- "+m.does)
			for _, do := range m.do {
				do(p)
			}
			time.Sleep(m.passes)
		}
		lines = append(lines, p.rest(n)...)
		stop(p)
		synctest.Wait()
		for _, h := range p.handlers {
			h.release()
		}
		<-p.ended
		lines = append(lines, "--- stopped")
		lines = append(lines, p.rest(n)...)
		if len(p.server.watches) > 0 {
			t.Errorf("%s: %d watches are left", s.name, len(p.server.watches))
		}
	})
	return lines
}

// run runs the informer.
func run(p *player) {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan struct{})
	p.cancel, p.ended = cancel, ended
	go func() {
		defer close(ended)
		p.informer.RunWithContext(ctx)
	}()
}

// stop tells the informer to stop.
func stop(p *player) { p.cancel() }

// rest waits until nothing happens any more and tells what did, and how things stand.
func (p *player) rest(n story) (lines []string) {
	synctest.Wait()
	lines = append(lines, p.log.take()...)
	for _, name := range slices.Sorted(maps.Keys(p.handlers)) {
		for _, call := range p.handlers[name].take(n) {
			lines = append(lines, name+": "+call)
		}
	}
	return append(lines, p.stands(n)...)
}

func (p *player) stands(n story) (lines []string) {
	i, x := p.informer, p.informer.GetIndexer()
	version := i.LastSyncResourceVersion()
	lines = append(lines, fmt.Sprintf("synced=%t done=%t stopped=%t ended=%t watches=%d version=%s controller=%t %s",
		i.HasSynced(), cache.IsDone(i.HasSyncedChecker()), i.IsStopped(), p.hasEnded(), p.server.openWatches(), version,
		i.GetController().HasSynced(), i.GetController().LastSyncResourceVersion()))
	lines = append(lines, fmt.Sprintf("store=%v keys=%v", portraits(x.List()), sortedStrings(x.ListKeys())))
	if !n.edits {
		lines = append(lines, "store at "+x.LastStoreSyncResourceVersion())
	}
	for _, key := range sortedStrings(x.ListKeys()) {
		obj, found, err := x.GetByKey(key)
		same, foundAgain, errAgain := x.Get(obj)
		if !found || err != nil || !foundAgain || errAgain != nil || portrait(same) != portrait(obj) {
			lines = append(lines, fmt.Sprintf("%s: GetByKey %s %t %v, Get %s %t %v", key, portrait(obj), found, err, portrait(same), foundAgain, errAgain))
		}
	}
	for _, index := range slices.Sorted(maps.Keys(x.GetIndexers())) {
		lines = append(lines, "index "+index+": "+describeIndex(x, index))
	}
	for _, name := range slices.Sorted(maps.Keys(p.handlers)) {
		r := p.handlers[name].registration
		lines = append(lines, fmt.Sprintf("%s: synced=%t done=%t", name, r.HasSynced(), cache.IsDone(r.HasSyncedChecker())))
	}
	return lines
}

func (p *player) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func describeIndex(x cache.Indexer, index string) string {
	var lines []string
	for _, value := range sortedStrings(x.ListIndexFuncValues(index)) {
		keys, err1 := x.IndexKeys(index, value)
		objs, err2 := x.ByIndex(index, value)
		like, err3 := x.Index(index, first(objs))
		lines = append(lines, fmt.Sprintf("%s=%v %v like=%v %v", value, sortedStrings(keys), portraits(objs), portraits(like),
			[]error{err1, err2, err3}))
	}
	return strings.Join(lines, "; ")
}

func first(objs []any) any {
	if len(objs) == 0 {
		return nil
	}
	return slices.MinFunc(objs, func(a, b any) int { return strings.Compare(portrait(a), portrait(b)) })
}

func sortedStrings(list []string) []string { return slices.Sorted(slices.Values(list)) }

func portraits(objs []any) []string {
	shown := make([]string, len(objs))
	for i, obj := range objs {
		shown[i] = portrait(obj)
	}
	slices.Sort(shown)
	return shown
}

// portrait shows an object with all that the stories change in it.
func portrait(obj any) string {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return fmt.Sprintf("tombstone(%s %s)", tombstone.Key, portrait(tombstone.Obj))
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%#v", obj)
	}
	shown := show(obj)
	if o.GetUID() != "" && o.GetUID() != given {
		shown += " uid=" + string(o.GetUID())
	}
	if len(o.GetLabels()) > 0 {
		shown += fmt.Sprintf(" %v", o.GetLabels())
	}
	if o.GetNamespace() != "ns" {
		shown = o.GetNamespace() + "/" + shown
	}
	return shown
}

// listener is a handler that notes its calls.
type listener struct {
	player       *player
	registration cache.ResourceEventHandlerRegistration
	during       func(call string) // called in each call, if set

	mu    sync.Mutex
	calls []call
	gate  chan struct{} // calls wait for it, if there is one
}

type call struct {
	key, text string
	after     time.Duration
	nothing   bool // the state that it tells is the one before
}

func (h *listener) OnAdd(obj any, initial bool) {
	h.called(obj, fmt.Sprintf("added %s initial=%t", portrait(obj), initial), false)
}

func (h *listener) OnUpdate(old, new any) {
	o, err1 := meta.Accessor(old)
	n, err2 := meta.Accessor(new)
	same := err1 == nil && err2 == nil && o.GetResourceVersion() == n.GetResourceVersion()
	h.called(new, fmt.Sprintf("updated %s to %s", portrait(old), portrait(new)), same)
}

func (h *listener) OnDelete(obj any) {
	h.called(obj, "deleted "+portrait(obj), false)
}

func (h *listener) called(obj any, text string, nothing bool) {
	h.mu.Lock()
	h.calls = append(h.calls, call{key(obj), text + h.ahead(obj), time.Since(h.player.start), nothing})
	gate := h.gate
	h.mu.Unlock()
	if h.during != nil {
		h.during(text)
	}
	if gate != nil {
		<-gate
	}
}

// ahead tells if the store has not yet what a handler hears of.
func (h *listener) ahead(obj any) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	stored, found, _ := h.player.informer.GetStore().GetByKey(key(obj))
	if !found {
		return ""
	}
	s, _ := meta.Accessor(stored)
	heard, _ := strconv.Atoi(o.GetResourceVersion())
	held, _ := strconv.Atoi(s.GetResourceVersion())
	if held < heard {
		return fmt.Sprintf(" ahead of the store, which has %s", portrait(stored))
	}
	return ""
}

func (h *listener) take(n story) (lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !n.ordered {
		slices.SortStableFunc(h.calls, func(a, b call) int { return strings.Compare(a.key, b.key) })
	}
	for _, c := range h.calls {
		switch {
		case n.quiet && c.nothing:
		case n.times:
			lines = append(lines, fmt.Sprintf("%s at %v", c.text, c.after))
		default:
			lines = append(lines, c.text)
		}
	}
	h.calls = nil
	return lines
}

func (h *listener) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate != nil {
		close(h.gate)
		h.gate = nil
	}
}

// join adds a handler, and notes if it cannot be added.
func join(name string, o ...cache.HandlerOptions) func(*player) {
	return func(p *player) {
		h := &listener{player: p}
		options := cache.HandlerOptions{}
		if len(o) > 0 {
			options = o[0]
		}
		r, err := p.informer.AddEventHandlerWithOptions(h, options)
		if err != nil {
			p.log.note("%s cannot join", name)
			return
		}
		h.registration, p.handlers[name] = r, h
	}
}

// every is the option of a handler that resyncs.
func every(period time.Duration) cache.HandlerOptions {
	return cache.HandlerOptions{ResyncPeriod: &period}
}

// leave removes a handler, which is not looked at any more.
func leave(name string) func(*player) {
	return func(p *player) {
		if h := p.handlers[name]; h != nil {
			p.log.note("%s leaves: %v", name, p.informer.RemoveEventHandler(h.registration))
		}
	}
}

// hold makes a handler's calls not return until let.
func hold(name string) func(*player) {
	return func(p *player) {
		if h := p.handlers[name]; h != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.gate == nil {
				h.gate = make(chan struct{})
			}
		}
	}
}

func let(name string) func(*player) {
	return func(p *player) {
		if h := p.handlers[name]; h != nil {
			h.release()
		}
	}
}

// compare plays the story to all sides.
func (n story) compare(t *testing.T) {
	t.Helper()
	want := n.perform(t, theirs)
	for _, s := range []side{ours, oursPacked, oursBytes} {
		if n.objectsOnly && s.name == oursBytes.name {
			continue
		}
		if got := n.perform(t, s); !slices.Equal(want, got) {
			t.Errorf("client-go (-) and %s (+) differ:\n%s", s.name, lineDiff(want, got))
		}
	}
}

// lineDiff shows all lines, and which are only in the one or the other.
func lineDiff(want, got []string) string {
	// longest[i][j] is how many lines want[i:] and got[j:] have in common.
	longest := make([][]int, len(want)+1)
	for i := range longest {
		longest[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if want[i] == got[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	var b strings.Builder
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			fmt.Fprintln(&b, "  ", want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && longest[i+1][j] >= longest[i][j+1]:
			fmt.Fprintln(&b, "- ", want[i])
			i++
		default:
			fmt.Fprintln(&b, "+ ", got[j])
			j++
		}
	}
	return b.String()
}
