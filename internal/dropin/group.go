package dropin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform"
)

// Group is what factories have in common: they keep one informer for each key, start
// each once, and wait for all of them. The zero value is an empty group.
type Group[K comparable] struct {
	scoping  sync.Mutex // held while the scope changes
	mu       sync.Mutex
	scope    *kinform.Scope // that informers get; nil: the one that they are made with
	members  map[K]*member
	closed   bool
	running  sync.WaitGroup
	starting []*member // in the order in which they were asked for
	all      []clientgo.SharedIndexInformer
}

type member struct {
	informer clientgo.SharedIndexInformer
	started  bool
	use
}

// NotKept logs why an informer of a factory has no snapshot, if there is a reason: it
// works, and those who asked for one expect to hear of it.
func NotKept(what any, why error) {
	if why != nil {
		klog.InfoS("kinform: an informer starts without a snapshot", "of", fmt.Sprint(what), "reason", why)
	}
}

// Informer returns the informer of a key; the first who asks has it made.
func (g *Group[K]) Informer(key K, create func() clientgo.SharedIndexInformer) clientgo.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.memberLocked(key, create)
	if !m.pinned {
		m.pinned = true
		g.starting = append(g.starting, m)
	}
	return m.informer
}

func (g *Group[K]) memberLocked(key K, create func() clientgo.SharedIndexInformer) *member {
	if m := g.members[key]; m != nil {
		return m
	}
	if g.members == nil {
		g.members = map[K]*member{}
	}
	m := &member{informer: create(), use: use{ended: make(chan struct{})}}
	if g.scope != nil {
		scoped, err := scopedOf(m.informer)
		if err == nil {
			err = scoped.SetScope(*g.scope)
		}
		if err != nil {
			klog.InfoS("kinform: an informer has everything, and not the scope of its factory", "of", fmt.Sprint(key), "reason", err)
		}
	}
	g.members[key] = m
	g.all = append(g.all, m.informer)
	return m
}

// Informers returns every informer, in the order in which they were asked for.
func (g *Group[K]) Informers() []clientgo.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// Start runs, until ctx ends, every informer that was not started yet. After
// Shutdown it does nothing.
func (g *Group[K]) Start(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	for _, m := range g.starting {
		if m.started {
			context.AfterFunc(ctx, m.cancel) // a lease has started it
		} else {
			g.runLocked(m, ctx)
		}
	}
	g.starting = nil
}

// runLocked runs an informer until ctx ends, or the last of its leases is released.
func (g *Group[K]) runLocked(m *member, ctx context.Context) {
	ctx, m.cancel = context.WithCancel(ctx)
	cancel := m.cancel
	m.started = true
	g.running.Go(func() {
		defer close(m.ended)
		defer cancel()
		m.informer.RunWithContext(ctx)
		g.mu.Lock()
		left := m.left
		g.mu.Unlock()
		if i, ok := m.informer.(interface{ GiveUp() }); ok && left {
			i.GiveUp()
		}
	})
}

// WaitSynced waits until every started informer has had its first list, or ctx
// ends, and returns which have.
func (g *Group[K]) WaitSynced(ctx context.Context) map[K]bool {
	g.mu.Lock()
	members := maps.Clone(g.members)
	g.mu.Unlock()
	return g.waitSynced(ctx, members)
}

// waitSynced waits for those of some members that are started.
func (g *Group[K]) waitSynced(ctx context.Context, members map[K]*member) map[K]bool {
	g.mu.Lock()
	maps.DeleteFunc(members, func(_ K, m *member) bool { return !m.started })
	g.mu.Unlock()
	synced := make(map[K]bool, len(members))
	for key, m := range members {
		select {
		case <-m.informer.HasSyncedChecker().Done():
		case <-m.ended:
		case <-ctx.Done():
		}
		synced[key] = m.informer.HasSynced()
	}
	return synced
}

// Shutdown prevents further informers from being started, and waits until those that
// were have ended. It does not end them: the contexts of Start do. But it ends those that
// only leases use.
func (g *Group[K]) Shutdown() {
	g.mu.Lock()
	g.closed = true
	for _, m := range g.members {
		if m.timer != nil {
			m.timer.Stop()
		}
		switch waits := slices.Contains(g.starting, m); {
		case m.started && (!m.pinned || waits): // what is pinned and does not wait ends with a context
			m.cancel()
		case !m.started && (m.users > 0 || !m.pinned): // or it waits for the end of its grace
			m.started, m.left = true, true // never, from now on
			close(m.ended)
		}
	}
	g.mu.Unlock()
	g.running.Wait()
}
