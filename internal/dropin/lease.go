package dropin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
)

// ErrShutDown says that a factory has been shut down.
var ErrShutDown = errors.New("the factory has been shut down")

// Lease is the use of some informers of a group, from Acquire to Release.
type Lease[K comparable] struct {
	group *Group[K]
	grace time.Duration

	mu       sync.Mutex
	members  map[K]*member
	leave    []func() // end what was added through the lease
	released bool
	done     chan struct{}
}

// use is who uses a member, and until when it runs. Guarded by the group's lock.
type use struct {
	pinned   bool   // it was asked for without a lease
	users    int    // how many leases there are
	acquired uint64 // how many there were
	timer    *time.Timer
	left     bool // nobody uses it, and nobody will
	cancel   context.CancelFunc
	ended    chan struct{} // closed when it has ended, or never will be started
}

// Acquire begins a lease. The informers that are asked for through it end with the last
// of their leases, and a time of grace later.
//
// Possible errors: ErrShutDown.
func (g *Group[K]) Acquire(grace time.Duration) (*Lease[K], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrShutDown
	}
	return &Lease[K]{group: g, grace: grace, members: map[K]*member{}, done: make(chan struct{})}, nil
}

// Informer returns the informer of a key; the first who asks has it made. What is asked for
// after the release is an informer of its own, which nobody starts.
func (l *Lease[K]) Informer(key K, create func() clientgo.SharedIndexInformer) clientgo.SharedIndexInformer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return create()
	}
	m := l.members[key]
	if m == nil {
		m = l.group.lend(key, create)
		l.members[key] = m
	}
	return &leased[K]{m.informer, l}
}

// lend counts one user more.
func (g *Group[K]) lend(key K, create func() clientgo.SharedIndexInformer) *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.memberLocked(key, create)
	m.users++
	m.acquired++
	if m.timer != nil {
		m.timer.Stop()
	}
	return m
}

// Start runs the informers of the lease that do not run yet, and releases it when ctx ends.
func (l *Lease[K]) Start(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return
	}
	forget := context.AfterFunc(ctx, l.Release)
	l.leave = append(l.leave, func() { forget() })
	g := l.group
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range l.members {
		if !g.closed && !m.started {
			g.starting = slices.DeleteFunc(g.starting, func(o *member) bool { return o == m })
			g.runLocked(m, context.Background())
		}
	}
}

// WaitSynced waits until each started informer of the lease has had its first list, or ctx
// ends, and returns which have.
func (l *Lease[K]) WaitSynced(ctx context.Context) map[K]bool {
	l.mu.Lock()
	members := maps.Clone(l.members)
	l.mu.Unlock()
	return l.group.waitSynced(ctx, members)
}

// Release ends the lease: the handlers that were added through it, and the informers that
// nobody else has acquired. It does not wait. Releasing twice does nothing.
func (l *Lease[K]) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return
	}
	l.released = true
	for _, leave := range l.leave {
		leave()
	}
	var ended []<-chan struct{}
	for key, m := range l.members {
		l.group.release(key, m, l.grace)
		ended = append(ended, m.ended)
	}
	l.members, l.leave = nil, nil
	go func() {
		for _, ch := range ended {
			<-ch
		}
		close(l.done)
	}()
}

// Done is closed when the lease is released and all informers that it had have ended.
func (l *Lease[K]) Done() <-chan struct{} { return l.done }

// added notes what ends a handler that was added through the lease.
func (l *Lease[K]) added(leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		leave()
		return
	}
	l.leave = append(l.leave, leave)
}

// release counts one user less, and lets go of a member that has no other, after a while.
func (g *Group[K]) release(key K, m *member, grace time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	if grace <= 0 || g.closed {
		g.letGoLocked(key, m)
		return
	}
	acquired := m.acquired
	m.timer = time.AfterFunc(grace, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if m.acquired == acquired {
			g.letGoLocked(key, m)
		}
	})
}

// letGoLocked ends an informer that nobody uses.
func (g *Group[K]) letGoLocked(key K, m *member) {
	if m.users > 0 || m.pinned || m.left {
		return
	}
	m.left = true
	delete(g.members, key)
	g.all = slices.DeleteFunc(g.all, func(o clientgo.SharedIndexInformer) bool { return o == m.informer })
	if m.started {
		m.cancel()
	} else {
		m.started = true // never, from now on
		close(m.ended)
	}
}

// leased is an informer whose handlers end with a lease.
type leased[K comparable] struct {
	clientgo.SharedIndexInformer
	lease *Lease[K]
}

// AddEventHandler is that of the informer, until the lease is released.
func (i *leased[K]) AddEventHandler(h clientgo.ResourceEventHandler) (clientgo.ResourceEventHandlerRegistration, error) {
	return i.added(i.SharedIndexInformer.AddEventHandler(h))
}

// AddEventHandlerWithResyncPeriod is that of the informer, until the lease is released.
func (i *leased[K]) AddEventHandlerWithResyncPeriod(h clientgo.ResourceEventHandler, resync time.Duration) (clientgo.ResourceEventHandlerRegistration, error) {
	return i.added(i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(h, resync))
}

// AddEventHandlerWithOptions is that of the informer, until the lease is released.
func (i *leased[K]) AddEventHandlerWithOptions(h clientgo.ResourceEventHandler, o clientgo.HandlerOptions) (clientgo.ResourceEventHandlerRegistration, error) {
	return i.added(i.SharedIndexInformer.AddEventHandlerWithOptions(h, o))
}

func (i *leased[K]) added(r clientgo.ResourceEventHandlerRegistration, err error) (clientgo.ResourceEventHandlerRegistration, error) {
	if err == nil {
		i.lease.added(func() { _ = i.RemoveEventHandler(r) }) // it is one of the informer's
	}
	return r, err
}

// Ask returns the informer of a key, through a lease if there is one.
func Ask[K comparable](g *Group[K], l *Lease[K], key K, create func() clientgo.SharedIndexInformer) clientgo.SharedIndexInformer {
	if l != nil {
		return l.Informer(key, create)
	}
	return g.Informer(key, create)
}
