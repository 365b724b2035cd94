package dropin

import (
	"context"
	"fmt"
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
	if m := g.members[key]; m != nil {
		return m.informer
	}
	if g.members == nil {
		g.members = map[K]*member{}
	}
	m := &member{informer: create()}
	if g.scope != nil {
		if scoped, err := scopedOf(m.informer); err == nil {
			_ = scoped.SetScope(*g.scope) // others have it, and this one is new
		}
	}
	g.members[key] = m
	g.starting = append(g.starting, m)
	g.all = append(g.all, m.informer)
	return m.informer
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
		m.started = true
		g.running.Go(func() { m.informer.RunWithContext(ctx) })
	}
	g.starting = nil
}

// WaitSynced waits until every started informer has had its first list, or ctx
// ends, and returns which have.
func (g *Group[K]) WaitSynced(ctx context.Context) map[K]bool {
	started := g.started()
	synced := make(map[K]bool, len(started))
	for key, informer := range started {
		select {
		case <-informer.HasSyncedChecker().Done():
		case <-ctx.Done():
		}
		synced[key] = informer.HasSynced()
	}
	return synced
}

func (g *Group[K]) started() map[K]clientgo.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	started := make(map[K]clientgo.SharedIndexInformer, len(g.members))
	for key, m := range g.members {
		if m.started {
			started[key] = m.informer
		}
	}
	return started
}

// Shutdown prevents further informers from being started, and waits until those that
// were have ended. It does not end them: the contexts of Start do.
func (g *Group[K]) Shutdown() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
