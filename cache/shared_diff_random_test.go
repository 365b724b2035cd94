package cache_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/cache"
)

// randomStory makes moments of chance.
type randomStory struct {
	*rand.Rand
	listOnly bool
	// calm: nothing fails. Then the program may write to the store: what it wrote is
	// there until the next list, and that comes at other times after failures.
	calm bool
	// noHolds: no handler is slow.
	noHolds bool
}

func (r randomStory) name() string { return string(rune('a' + r.IntN(5))) }
func (r randomStory) app() string  { return []string{"web", "db", "x"}[r.IntN(3)] }

// who is one of the handlers that a story may have.
func (r randomStory) who() string { return fmt.Sprintf("h%d", r.IntN(4)) }

func (r randomStory) change() func(*server) {
	switch r.IntN(6) {
	case 0, 1:
		return remove(r.name())
	case 2:
		return put(r.name())
	case 3:
		name := r.name()
		return func(s *server) { remove(name)(s); put(name)(s) }
	}
	return put(r.name(), "app", r.app())
}

func (r randomStory) changes(n int) []func(*server) {
	list := make([]func(*server), n)
	for i := range list {
		list[i] = r.change()
	}
	return list
}

// atOnce is all that a server does in a moment. Nobody sees it half done: what an
// informer that lists or watches in the middle of it gets to see would be chance.
func atOnce(parts ...[]func(*server)) []func(*player) {
	return []func(*player){on(slices.Concat(parts...)...)}
}

// then is a part of atOnce.
func then(changes ...func(*server)) []func(*server) { return changes }

// steady are moments in which nothing fails.
func (r randomStory) steady() moment {
	switch r.IntN(10) {
	case 0, 1, 2:
		return moment{"change", atOnce(r.changes(1)), settled}
	case 3, 4:
		return moment{"changes at once", atOnce(r.changes(1 + r.IntN(6))), settled}
	case 5:
		return moment{"bookmark", []func(*player){on(bookmark)}, settled}
	case 6:
		return moment{"disconnect", atOnce(then(disconnect), r.changes(r.IntN(4))), settled}
	case 7:
		who := r.who()
		if r.noHolds {
			break
		}
		return moment{who + " is held", []func(*player){hold(who)}, settled}
	case 8:
		who := r.who()
		return moment{who + " is let", []func(*player){let(who)}, settled}
	}
	return r.meddling()
}

// meddling is what the program does while the informer runs.
func (r randomStory) meddling() moment {
	who, name := r.who(), r.name()
	kinds := 4
	if r.calm {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0, 1:
		return moment{who + " joins", []func(*player){joinOnce(who)}, settled}
	case 2:
		return moment{who + " leaves", []func(*player){leave(who)}, settled}
	case 3:
		index := fmt.Sprintf("index%d", r.IntN(2))
		return moment{"add " + index, []func(*player){addIndex(index, byNames)}, settled}
	case 4:
		return moment{"store " + name, []func(*player){edit(func(x cache.Indexer) error { return x.Add(pod(name, 1, "app", "edited")) })}, settled}
	}
	unstore := edit(func(x cache.Indexer) error { return x.Delete(pod(name, 1)) })
	return moment{"unstore and change " + name, []func(*player){unstore, on(put(name))}, settled}
}

// failing are moments in which something does. Where the two get over a failure in
// different ways, nothing else happens meanwhile: see docs/differences.md.
func (r randomStory) failing() moment {
	switch r.IntN(8) {
	case 0, 1:
		return moment{"the version is forgotten", atOnce(then(disconnect), r.changes(1+r.IntN(4)), then(forget), r.changes(r.IntN(2))), long}
	case 2:
		return moment{"expired", atOnce(r.changes(r.IntN(2)), then(breakWith(expired())), r.changes(r.IntN(4))), long}
	case 3:
		return moment{"lists fail", atOnce(then(failLists(errInternal, errRefused), disconnect), r.changes(r.IntN(4)), then(forget)), long}
	case 4:
		return moment{"lists at old versions fail", atOnce(then(failLists(expired()), disconnect), r.changes(r.IntN(4)), then(forget)), long}
	case 5:
		return moment{"watches are refused", []func(*player){on(failWatches(errRefused, errBusy), disconnect)}, long}
	case 6:
		return moment{"error event", []func(*player){on(breakWith([]error{errInternal, errBusy, apierrors.NewBadRequest("bad")}[r.IntN(3)]))}, long}
	}
	return moment{"disconnect", atOnce(then(disconnect), r.changes(r.IntN(4))), long}
}

// joinOnce adds a handler, unless it is there.
func joinOnce(name string) func(*player) {
	return func(p *player) {
		if p.handlers[name] == nil {
			join(name)(p)
		}
	}
}

func letAll(p *player) {
	for _, h := range p.handlers {
		h.release()
	}
}

func (r randomStory) story(length int) story {
	n := story{
		quiet: true, edits: r.calm, watch: !r.listOnly && r.IntN(2) == 0,
		server:   three,
		options:  cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byApp, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}},
		informer: func(p *player) { join("h0")(p); join("h1")(p) },
	}
	if !n.watch && r.IntN(3) == 0 {
		n.informer = func(p *player) { setTransform(transform)(p); join("h0")(p) }
	}
	n.script = append(n.script, moment{"begin", nil, settled})
	for range length {
		if !r.calm && r.IntN(4) == 0 {
			// A handler that is held sees which object of a list comes first.
			n.script = append(n.script, moment{"all are let", []func(*player){letAll}, settled},
				r.failing(), moment{"heal", []func(*player){on(heal)}, settled})
		} else {
			n.script = append(n.script, r.steady())
		}
	}
	return n
}

func TestRandomStoriesAreAsClientGos(t *testing.T) {
	forSeeds(t, 300, func(t *testing.T, random *rand.Rand) {
		randomStory{Rand: random, calm: random.IntN(3) == 0}.story(15).compare(t)
	})
}

// TestRandomResyncsAreAsClientGos: to the moment, as long as nothing fails.
func TestRandomResyncsAreAsClientGos(t *testing.T) {
	forSeeds(t, 100, func(t *testing.T, random *rand.Rand) {
		r := randomStory{Rand: random, listOnly: true, calm: true, noHolds: true}
		n := r.story(0)
		n.quiet, n.times = false, true
		period := func() time.Duration { return time.Duration(random.IntN(20)) * time.Second }
		n.options.ResyncPeriod = period()
		early := period()
		n.informer = func(p *player) { join("h0")(p); join("h1", every(early))(p) }
		for range 10 {
			m := r.steady()
			if random.IntN(4) == 0 {
				who, late := r.who(), every(period())
				m = moment{who + " joins", []func(*player){func(p *player) {
					if p.handlers[who] == nil {
						join(who, late)(p)
					}
				}}, settled}
			}
			// Half a millisecond off all ticks, so that nothing happens at the same time, and
			// more than a second: a watch that ends sooner is a failure to client-go.
			m.passes = time.Duration(1_100+random.IntN(30_000)) * time.Millisecond
			n.script = append(n.script, m)
		}
		n.script[0].passes += 500 * time.Microsecond
		n.compare(t)
	})
}
