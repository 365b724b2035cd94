package cache_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
)

// difference is a story that the two tell differently, on purpose: a row of
// docs/differences.md. All calls and errors that only one of them shows are
// listed, and with states how things stand, too.
type difference struct {
	story
	states            bool
	clientgo, kinform []string
}

func (d difference) check(t *testing.T, s side) {
	t.Helper()
	want, got := d.perform(t, theirs), d.perform(t, s)
	onlyTheirs, onlyOurs := without(d.shown(want), d.shown(got)), without(d.shown(got), d.shown(want))
	if !slices.Equal(onlyTheirs, d.clientgo) || !slices.Equal(onlyOurs, d.kinform) {
		t.Errorf("only client-go:\n%q\nonly kinform:\n%q\nclient-go (-) and kinform (+):\n%s", onlyTheirs, onlyOurs, lineDiff(want, got))
	}
}

func (d difference) shown(lines []string) (shown []string) {
	for _, line := range lines {
		if d.states || strings.Contains(line, ": added ") || strings.Contains(line, ": updated ") ||
			strings.Contains(line, ": deleted ") || strings.HasPrefix(line, "error of ") {
			shown = append(shown, line)
		}
	}
	return shown
}

// without returns the lines that are not among the others, each as often as it is
// too many.
func without(lines, others []string) (left []string) {
	count := map[string]int{}
	for _, line := range others {
		count[line]++
	}
	for _, line := range lines {
		if count[line]--; count[line] < 0 {
			left = append(left, line)
		}
	}
	return left
}

var errNotToday = errors.New("not today")

// failFor is a transform that fails for one object.
func failFor(name string) cache.TransformFunc {
	return func(obj any) (any, error) {
		if p := obj.(*corev1.Pod); p.Name == name && p.Labels["bad"] != "" {
			return nil, errNotToday
		}
		return obj, nil
	}
}

var differences = map[string]difference{
	"a relist tells only what changed": {story: story{
		server: three, informer: joins,
		script: []moment{{"begin", nil, settled}, {"relist", []func(*player){on(put("c"), breakWith(expired()))}, long}},
	},
		clientgo: []string{
			"h: updated a@1 map[app:web] to a@1 map[app:web]",
			"h: updated b@2 map[app:db] to b@2 map[app:db]",
			"h: updated c@4 to c@4",
		},
	},
	"a relist tells only what changed, to handlers that do not resync": {story: story{
		server: three, informer: func(p *player) { join("never", every(0))(p); join("h")(p) },
		options: cache.SharedIndexInformerOptions{ResyncPeriod: time.Hour},
		script:  []moment{{"begin", nil, time.Hour + settled}, {"relist", []func(*player){on(breakWith(expired()))}, long}},
	},
		clientgo: []string{
			"h: updated a@1 map[app:web] to a@1 map[app:web]",
			"h: updated b@2 map[app:db] to b@2 map[app:db]",
			"h: updated c@3 to c@3",
		},
	},
	"the end of an unknown object": {story: story{
		server: three, informer: joins,
		script: []moment{{"delete", []func(*player){on(send(watch.Deleted, pod("x", 9)))}, settled}},
	},
		clientgo: []string{
			"h: deleted x@9",
		},
	},
	"a recreated object found by a relist": {story: story{
		informer: joins, quiet: true,
		server: func(s *server) { putUID("a", "1")(s) },
		script: []moment{{"begin", nil, settled},
			{"recreate", []func(*player){on(disconnect, remove("a"), putUID("a", "2"), forget)}, long}},
	},
		clientgo: []string{
			"h: updated a@1 uid=1 to a@3 uid=2",
		},
		kinform: []string{
			"h: deleted tombstone(ns/a a@1 uid=1)",
			"h: added a@3 uid=2 initial=false",
		},
	},
	"error events do not relist": {story: story{
		server: three, informer: joins, quiet: true,
		script: []moment{{"begin", nil, settled},
			{"break", []func(*player){on(breakWith(errInternal), remove("a"), put("b"), put("b"))}, long}},
	},
		clientgo: []string{
			"h: deleted tombstone(ns/a a@1 map[app:web])",
			"h: updated b@2 map[app:db] to b@6",
		},
		kinform: []string{
			"h: deleted a@4 map[app:web]",
			"h: updated b@2 map[app:db] to b@5",
			"h: updated b@5 to b@6",
		},
	},
	"a watch that ends at once": {story: story{
		server: three, informer: joins, quiet: true,
		script: []moment{{"cut", []func(*player){on(disconnect, remove("a"), put("b"), put("b"))}, long}},
	},
		clientgo: []string{
			"h: deleted tombstone(ns/a a@1 map[app:web])",
			"h: updated b@2 map[app:db] to b@6",
		},
		kinform: []string{
			"h: deleted a@4 map[app:web]",
			"h: updated b@2 map[app:db] to b@5",
			"h: updated b@5 to b@6",
		},
	},
	"a transform fails in a list": {story: story{
		server: func(s *server) { three(s); put("b", "bad", "1")(s) }, quiet: true,
		informer: func(p *player) { setTransform(failFor("b"))(p); join("h")(p) },
		script:   []moment{{"meanwhile", nil, long}, {"well again", []func(*player){on(put("b"))}, long}},
	},
		clientgo: []string{
			"h: added b@5 initial=true",
		},
		kinform: []string{
			"h: added b@5 initial=false",
		},
	},
	"a transform fails for an event": {story: story{
		server: three, quiet: true, objectsOnly: true,
		informer: func(p *player) { setTransform(failFor("b"))(p); join("h")(p) },
		script: []moment{
			{"bad", []func(*player){on(put("b", "bad", "1"))}, settled},
			{"deleted", []func(*player){on(remove("b"))}, settled},
		},
	},
		kinform: []string{
			"h: deleted b@2 map[app:db]",
		},
	},
	"a transform and initial events": {story: story{
		server: three, watch: true,
		informer: func(p *player) { setTransform(transform)(p); join("h")(p) },
	},
		clientgo: []string{
			"h: added a@1 transformed 2 map[app:web] initial=true",
			"h: added b@2 transformed 2 map[app:db] initial=true",
			"h: added c@3 transformed 2 initial=true",
		},
		kinform: []string{
			"h: added a@1 transformed 1 map[app:web] initial=true",
			"h: added b@2 transformed 1 map[app:db] initial=true",
			"h: added c@3 transformed 1 initial=true",
		},
	},
	"a slow handler and many resyncs": {story: story{
		server: func(s *server) { put("a")(s) }, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: joins,
		script: []moment{
			{"hold", []func(*player){hold("h"), on(put("a"))}, 35 * time.Second},
			{"let", []func(*player){let("h")}, settled},
		},
	},
		clientgo: []string{
			"h: updated a@2 to a@2 at 35s",
			"h: updated a@2 to a@2 at 35s",
		},
	},
	"a store filled before the handler joins": {story: story{
		server: three, quiet: true,
		informer: func(p *player) {
			edit(func(x cache.Indexer) error { return x.Add(pod("a", 1)) })(p)
			edit(func(x cache.Indexer) error { return x.Add(pod("x", 1)) })(p)
			join("h")(p)
		},
	},
		kinform: []string{
			"h: added a@1 initial=true",
			"h: added x@1 initial=true",
		},
	},
	"objects of another type in a list": {story: story{
		server: three, informer: joins, example: &corev1.Node{}, objectsOnly: true,
	},
		clientgo: []string{
			"h: added a@1 map[app:web] initial=true",
			"h: added b@2 map[app:db] initial=true",
			"h: added c@3 initial=true",
		},
	},
	"a negative resync period": {story: story{
		server: func(s *server) { put("a")(s) }, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: join("h", every(-time.Second)),
		script:   []moment{{"time passes", nil, 25 * time.Second}},
	},
		clientgo: []string{
			"h: updated a@1 to a@1 at 10s",
			"h: updated a@1 to a@1 at 20s",
		},
	},
	"what the watch error handler hears": {story: story{
		server: three, informer: joins, quiet: true, errors: true,
		script: []moment{
			{"begin", nil, settled},
			{"a watch that is refused", []func(*player){on(failWatches(errRefused), disconnect)}, long},
			{"a watch that is throttled", []func(*player){on(failWatches(errBusy), disconnect)}, long},
			{"a watch that fails", []func(*player){on(failWatches(errOther), disconnect)}, long},
			{"an error event", []func(*player){on(breakWith(errInternal))}, long},
		},
	},
		kinform: []string{
			"error of *v1.Pod at 3: refused",
			"error of *v1.Pod at 3: TooManyRequests",
			"error of *v1.Pod at 3: InternalError",
		},
	},
}

func TestDifferencesFromClientGo(t *testing.T) {
	for name, d := range differences {
		for _, s := range []side{ours, oursPacked, oursBytes} {
			if d.objectsOnly && s.name == oursBytes.name {
				continue
			}
			t.Run(name+"/"+s.name, func(t *testing.T) { d.check(t, s) })
		}
	}
}
