package ctrlcache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// together returns one informer for the members of one kind and form, by scope.
func together(members map[string]*member) cache.Informer {
	all := make([]*member, 0, len(members))
	for _, scope := range slices.Sorted(maps.Keys(members)) {
		all = append(all, members[scope])
	}
	if len(all) == 1 {
		return all[0].informer
	}
	return &several{members: all}
}

// several is an informer of several scopes. Handlers are called for each scope by
// itself, so for objects of different scopes they may be called at the same time.
type several struct {
	members []*member
	synced  allDone
}

func (s *several) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

func (s *several) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions adds a handler to all scopes, or to none.
func (s *several) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	r := &registrations{of: s}
	for _, m := range s.members {
		one, err := m.informer.AddEventHandlerWithOptions(h, o)
		if err != nil {
			return nil, errors.Join(err, s.RemoveEventHandler(r))
		}
		r.all = append(r.all, one)
	}
	return r, nil
}

func (s *several) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registrations)
	if !ok {
		return fmt.Errorf("%T is not a registration of this informer", handle)
	}
	var errs []error
	for i, one := range r.all {
		errs = append(errs, r.of.members[i].informer.RemoveEventHandler(one))
	}
	return errors.Join(errs...)
}

func (s *several) AddIndexers(indexers toolscache.Indexers) error {
	for _, m := range s.members {
		if err := m.informer.AddIndexers(indexers); err != nil {
			return err
		}
	}
	return nil
}

func (s *several) HasSynced() bool {
	return !slices.ContainsFunc(s.members, func(m *member) bool { return !m.informer.HasSynced() })
}

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (s *several) HasSyncedChecker() toolscache.DoneChecker {
	var names []string
	for _, m := range s.members {
		names = append(names, m.informer.HasSyncedChecker().Name())
	}
	return &checker{strings.Join(names, ", "), &s.synced, s.wait}
}

// wait waits until all have synced; false if one ends before.
func (s *several) wait() bool {
	for _, m := range s.members {
		if !m.lives(m.informer.HasSyncedChecker().Done()) {
			return false
		}
	}
	return true
}

// IsStopped reports whether all have stopped.
func (s *several) IsStopped() bool {
	return !slices.ContainsFunc(s.members, func(m *member) bool { return !m.informer.IsStopped() })
}

// lives waits until something is done; false if the member ends before.
func (m *member) lives(done <-chan struct{}) bool {
	select {
	case <-done:
	case <-m.removed:
	case <-m.ended.Done():
	}
	return isClosed(done) // it may have ended after that
}

// registrations are those of one handler with several informers.
type registrations struct {
	of     *several
	all    []toolscache.ResourceEventHandlerRegistration
	synced allDone
}

func (r *registrations) HasSynced() bool {
	return !slices.ContainsFunc(r.all, func(one toolscache.ResourceEventHandlerRegistration) bool { return !one.HasSynced() })
}

// HasSyncedChecker is HasSynced in a form that can be waited for.
func (r *registrations) HasSyncedChecker() toolscache.DoneChecker {
	var names []string
	for _, one := range r.all {
		names = append(names, one.HasSyncedChecker().Name())
	}
	return &checker{strings.Join(names, ", "), &r.synced, r.wait}
}

func (r *registrations) wait() bool {
	for i, one := range r.all {
		if !r.of.members[i].lives(one.HasSyncedChecker().Done()) {
			return false
		}
	}
	return true
}

// checker is a toolscache.DoneChecker of several things.
type checker struct {
	name string
	done *allDone
	wait func() bool
}

func (c *checker) Name() string          { return c.name }
func (c *checker) Done() <-chan struct{} { return c.done.when(c.wait) }

// allDone is closed when several things are done. Nobody waits for them before somebody
// asks.
type allDone struct {
	once sync.Once
	done chan struct{}
}

func (a *allDone) when(wait func() bool) <-chan struct{} {
	a.once.Do(func() {
		a.done = make(chan struct{})
		go func() {
			if wait() {
				close(a.done)
			}
		}()
	})
	return a.done
}
