package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/cache"
)

// difference is a story that the two tell differently, on purpose: a row of
// docs/differences.md. All that only one of them shows is listed.
type difference struct {
	story
	clientgo, kinform []string
}

func (d difference) hold(t *testing.T) {
	t.Helper()
	want, got := d.perform(t, theirs), d.perform(t, ours)
	onlyTheirs, onlyOurs := without(want, got), without(got, want)
	if !slices.Equal(onlyTheirs, d.clientgo) || !slices.Equal(onlyOurs, d.kinform) {
		t.Errorf("only client-go:\n%q\nonly kinform:\n%q\nclient-go (-) and kinform (+):\n%s", onlyTheirs, onlyOurs, lineDiff(want, got))
	}
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

func unversioned(name string, labels ...string) *corev1.Pod {
	p := pod(name, 0, labels...)
	p.ResourceVersion = ""
	return p
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
	}},
	"a relist tells only what changed, to handlers that do not resync": {story: story{
		server: three, informer: func(p *player) { join("never", every(0))(p); join("h")(p) },
		options: cache.SharedIndexInformerOptions{ResyncPeriod: time.Hour},
		script:  []moment{{"begin", nil, time.Hour + settled}, {"relist", []func(*player){on(breakWith(expired()))}, long}},
	}},
	"the end of an unknown object": {story: story{
		server: three, informer: joins,
		script: []moment{{"delete", []func(*player){on(send(watch.Deleted, pod("x", 9)))}, settled}},
	}},
	"an event sent twice": {story: story{
		server: three, informer: joins,
		script: []moment{{"again", []func(*player){on(send(watch.Modified, pod("c", 3)))}, settled}},
	}},
	"a recreated object found by a relist": {story: story{
		informer: joins, quiet: true,
		server: func(s *server) { putUID("a", "1")(s) },
		script: []moment{{"begin", nil, settled},
			{"recreate", []func(*player){on(disconnect, remove("a"), putUID("a", "2"), forget)}, long}},
	}},
	"error events do not relist": {story: story{
		server: three, informer: joins, quiet: true,
		script: []moment{{"begin", nil, settled},
			{"break", []func(*player){on(breakWith(errInternal), remove("a"), put("b"), put("b"))}, long}},
	}},
	"a watch that ends at once": {story: story{
		server: three, informer: joins, quiet: true,
		script: []moment{{"cut", []func(*player){on(disconnect, remove("a"), put("b"), put("b"))}, long}},
	}},
	"events without versions": {story: story{
		server: three, informer: joins,
		script: []moment{
			{"add", []func(*player){on(send(watch.Added, unversioned("x", "n", "1")))}, settled},
			{"modify", []func(*player){on(send(watch.Modified, unversioned("x", "n", "2")))}, settled},
			{"delete", []func(*player){on(send(watch.Deleted, unversioned("x", "n", "2")))}, settled},
		},
	}},
	"a list without a version": {story: story{
		informer: joins,
		script:   []moment{{"add", []func(*player){on(put("a"))}, settled}},
	}},
	"a transform fails in a list": {story: story{
		server: func(s *server) { three(s); put("b", "bad", "1")(s) }, quiet: true,
		informer: func(p *player) { setTransform(failFor("b"))(p); join("h")(p) },
		script:   []moment{{"meanwhile", nil, long}, {"well again", []func(*player){on(put("b"))}, long}},
	}},
	"a transform fails for an event": {story: story{
		server: three, quiet: true,
		informer: func(p *player) { setTransform(failFor("b"))(p); join("h")(p) },
		script: []moment{
			{"bad", []func(*player){on(put("b", "bad", "1"))}, settled},
			{"deleted", []func(*player){on(remove("b"))}, settled},
		},
	}},
	"a transform that gives nothing": {story: story{
		server: three, quiet: true,
		informer: func(p *player) {
			setTransform(func(obj any) (any, error) {
				if obj.(*corev1.Pod).Name == "x" {
					return nil, nil
				}
				return obj, nil
			})(p)
			join("h")(p)
		},
		script: []moment{{"x", []func(*player){on(put("x"))}, settled}, {"y", []func(*player){on(put("y"))}, settled}},
	}},
	"a transform that renames": {story: story{
		server: three, quiet: true,
		informer: func(p *player) {
			setTransform(func(obj any) (any, error) {
				obj.(*corev1.Pod).Name += "-renamed"
				return obj, nil
			})(p)
			join("h")(p)
		},
		script: []moment{{"x", []func(*player){on(put("x"))}, settled}, {"change", []func(*player){on(put("x"))}, settled}, {"delete", []func(*player){on(remove("x"))}, settled}},
	}},
	"a transform and initial events": {story: story{
		server: three, watch: true,
		informer: func(p *player) { setTransform(transform)(p); join("h")(p) },
	}},
	"a slow handler and many resyncs": {story: story{
		server: func(s *server) { put("a")(s) }, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: joins,
		script: []moment{
			{"hold", []func(*player){hold("h"), on(put("a"))}, 35 * time.Second},
			{"let", []func(*player){let("h")}, settled},
		},
	}},
	"resyncs through a relist": {story: story{
		server: func(s *server) { put("a")(s) }, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: joins,
		script: []moment{
			{"relist", []func(*player){on(put("a"))}, settled},
			{"relist", []func(*player){on(breakWith(expired()), put("a"))}, 30 * time.Second},
		},
	}},
	"a store filled before the handler joins": {story: story{
		server: three, quiet: true,
		informer: func(p *player) {
			edit(func(x cache.Indexer) error { return x.Add(pod("a", 1)) })(p)
			edit(func(x cache.Indexer) error { return x.Add(pod("x", 1)) })(p)
			join("h")(p)
		},
	}},
	"objects of another type in a list": {story: story{
		server: three, informer: joins, example: &corev1.Node{},
	}},
	"objects of another kind": {story: story{
		example: func() runtime.Object {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion("v1")
			u.SetKind("Pod")
			return u
		}(),
		informer: joins,
		script: []moment{
			{"pod", []func(*player){on(send(watch.Added, kinded("v1", "Pod", "a")))}, settled},
			{"other", []func(*player){on(send(watch.Added, kinded("v2", "Pod", "b")))}, settled},
			{"none", []func(*player){on(send(watch.Added, kinded("", "", "c")))}, settled},
		},
	}},
	"a negative resync period": {story: story{
		server: func(s *server) { put("a")(s) }, times: true,
		options:  cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second},
		informer: join("h", every(-time.Second)),
		script:   []moment{{"time passes", nil, 25 * time.Second}},
	}},
	"what the watch error handler hears": {story: story{
		server: three, informer: joins, quiet: true, errors: true,
		script: []moment{
			{"begin", nil, settled},
			{"a watch that is refused", []func(*player){on(failWatches(errRefused), disconnect)}, long},
			{"a watch that is throttled", []func(*player){on(failWatches(errBusy), disconnect)}, long},
			{"a watch that fails", []func(*player){on(failWatches(errOther), disconnect)}, long},
			{"an error event", []func(*player){on(breakWith(errInternal))}, long},
		},
	}},
	"many waiting": {story: story{
		server: func(s *server) { put("a")(s); put("b")(s) }, listOnly: true,
		informer: joins,
		script: []moment{
			{"hold", []func(*player){hold("h"), on(put("a"))}, settled},
			{"flood", []func(*player){func(p *player) {
				for range 2000 {
					p.server.do(put("a"), put("b"))
				}
			}}, settled},
			{"let", []func(*player){let("h")}, settled},
		},
	}},
}

func kinded(version, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetResourceVersion("5")
	return u
}

var _ = metav1.ObjectMeta{}
var _ = fmt.Sprint

func TestDifferencesFromClientGo(t *testing.T) {
	for name, d := range differences {
		t.Run(name, d.hold)
	}
}
