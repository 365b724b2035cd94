package cache

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// core is an engine that one or several shared informers use: typed, dynamic and
// metadata informers of one resource, on one HTTP client, with equal selectors. It
// runs while any of them does, and only once: what a core that has ended holds is
// out of date, and an informer that starts must not take it for synced.
type core struct {
	*engine.Informer
	lazy  *lazySource // nil where it is not shared
	share dropin.Share

	mu      sync.Mutex // held while the engine is started and stopped
	runners int
	joined  int                  // how many have run on it so far
	spent   bool                 // the last runner has left
	owner   *sharedIndexInformer // nobody else may use it; nil: others may
	cancel  context.CancelFunc
	ended   chan struct{}

	membersMu sync.Mutex
	members   map[*sharedIndexInformer]bool // those that run
	reports   sync.Once                     // it tells them what has come
}

// newCore returns a core over a source. The Transform is for sources of objects.
func newCore(source engine.Source, o engine.ReflectorOptions) *core {
	c := &core{members: map[*sharedIndexInformer]bool{}}
	o.OnFailure = c.failed
	c.Informer = engine.NewInformer(engine.Options{Log: logWarning}, o, map[string]engine.Source{"": source})
	c.reportReflector(source.String())
	return c
}

// failed passes a failure to all informers that run.
func (c *core) failed(err error) {
	for _, m := range c.running() {
		m.failed(err)
	}
}

// running returns the informers that run.
func (c *core) running() []*sharedIndexInformer {
	c.membersMu.Lock()
	defer c.membersMu.Unlock()
	return slices.Collect(maps.Keys(c.members))
}

func (c *core) member(s *sharedIndexInformer, runs bool) {
	c.membersMu.Lock()
	defer c.membersMu.Unlock()
	if runs {
		c.members[s] = true
	} else {
		delete(c.members, s)
	}
}

// join counts an informer among those that run on the core. Each join needs a leave.
// It returns false, and does nothing, if the core is spent.
func (c *core) join(s *sharedIndexInformer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spent || c.owner != nil && c.owner != s {
		return false
	}
	c.runners++
	c.joined++
	c.member(s, true)
	return true
}

// run runs the engine, unless an informer that joined earlier has done so.
func (c *core) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	c.cancel, c.ended = cancel, ended
	go func() {
		defer close(ended)
		_ = c.Run(ctx) // it was not running
	}()
}

func (c *core) isSpent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent
}

// isOwned reports whether one informer has the core for itself.
func (c *core) isOwned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner != nil
}

// leave stops the engine, if nobody else needs it. The result is closed when it has
// ended.
func (c *core) leave(s *sharedIndexInformer) <-chan struct{} {
	c.member(s, false)
	c.mu.Lock()
	c.runners--
	last := c.runners == 0
	if last {
		c.spent = true
		c.cancel()
	}
	c.mu.Unlock()
	if !last {
		others := make(chan struct{})
		close(others)
		return others
	}
	if c.lazy != nil {
		forgetSpent(c.share)
	}
	return c.ended
}

// wasAlone reports whether the core has ended, and has run for one informer only.
func (c *core) wasAlone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent && c.joined == 1
}

// cores are those that can be shared. An entry is dropped when the core is spent, or
// when no informer uses it any more, and with it the HTTP client of its key.
var cores struct {
	mu    sync.Mutex
	byKey map[dropin.Share][]weak.Pointer[core]
}

// sharedCore returns a core for what lw lists that can show what lw needs, one
// that others use if there is one. If grown is not nil, the core shows it once that is
// closed; else once it has had its first list.
func sharedCore(name string, lw *dropin.ListWatch) (c *core, grown <-chan struct{}) {
	cores.mu.Lock()
	defer cores.mu.Unlock()
	for _, w := range cores.byKey[lw.Share] {
		c := w.Value()
		if c == nil || c.isSpent() || c.isOwned() {
			continue
		}
		if grown, ok := c.lazy.admit(lw.Needs); ok {
			return c, grown
		}
	}
	c = newLazyCore(name, lw)
	c.share = lw.Share
	runtime.AddCleanup(c, forgetSpent, lw.Share)
	if cores.byKey == nil {
		cores.byKey = map[dropin.Share][]weak.Pointer[core]{}
	}
	cores.byKey[lw.Share] = append(cores.byKey[lw.Share], weak.Make(c))
	return c, nil
}

// newLazyCore returns a core that decides what to ask for when it is first used.
func newLazyCore(name string, lw *dropin.ListWatch) *core {
	lazy := &lazySource{name: name, open: lw.Open, needs: lw.Needs, grows: lw.Grows}
	c := newCore(lazy, reflectorOptions(lw, lazy.settle))
	c.lazy = lazy
	return c
}

// forgetSpent forgets the cores of a key that nobody can share any more.
func forgetSpent(key dropin.Share) {
	cores.mu.Lock()
	defer cores.mu.Unlock()
	alive := slices.DeleteFunc(cores.byKey[key], func(w weak.Pointer[core]) bool {
		c := w.Value()
		return c == nil || c.isSpent()
	})
	if len(alive) == 0 {
		delete(cores.byKey, key)
	} else {
		cores.byKey[key] = alive
	}
}
