package cache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// Description is an informer's whole running configuration and state: queue,
// source, object type, resyncs, handlers, error handler, page size, and its health.
// Print it, or marshal it to JSON. It contains no object data.
type Description = describe.Description

// Describe describes a [SharedInformer] or a [Controller]. Of one that is not from
// this package it describes what its methods show.
func Describe(informer interface{ LastSyncResourceVersion() string }) Description {
	switch i := informer.(type) {
	case *sharedIndexInformer:
		return i.describe()
	case sharedController:
		return i.describe()
	case *controller:
		return i.describe()
	case SharedInformer: // another implementation, perhaps around one of ours
		if inner, ok := i.GetController().(sharedController); ok {
			return inner.describe()
		}
	}
	return describeForeign(informer)
}

// DescribeAll describes each of several informers.
func DescribeAll(informers []SharedIndexInformer) []Description {
	all := make([]Description, 0, len(informers))
	for _, i := range informers {
		all = append(all, Describe(i))
	}
	return all
}

func (s *sharedIndexInformer) describe() Description {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := describe.Engine(s.core.Informer, nil)
	d.Informer = "shared informer"
	d.ObjectType = fmt.Sprintf("%T", s.objectType)
	d.Source.Name = s.description
	d.Source.ErrorHandler = describe.Function(s.watchErrorF)
	s.describeSourceLocked(&d.Source)
	d.Resync = describe.Resync{Default: describe.Duration(s.defaultResync), Check: describe.Duration(s.resyncCheck)}
	d.Store.Indexes = slices.Sorted(maps.Keys(s.indexer.GetIndexers()))
	d.Store.Objects = s.indexer.store.Load().Len()
	d.Store.Transform = describe.Function(s.transformer())
	_, off := s.detector.(noDetector)
	d.Store.MutationDetector = !off
	d.Sharing = s.core.describe(s)
	d.Status.Started, d.Status.Stopped, d.Status.Synced = s.started, s.stopped, s.HasSynced()
	if !s.started {
		d.Status.Version, d.Status.Sources = "", nil // those of others, if of anybody
	}
	joined := slices.SortedFunc(maps.Keys(s.handlers), func(a, b *registration) int { return cmp.Compare(a.number, b.number) })
	for _, r := range joined {
		d.Handlers = append(d.Handlers, r.describe())
	}
	return d
}

// Measure describes the informer for package metrics, and has it measure its handlers and
// reads from the first call on. It is nil while the informer does not run.
func (s *sharedIndexInformer) Measure() []describe.Description {
	s.mu.Lock()
	runs, core := s.started && !s.stopped, s.core
	var subs []*engine.Subscription
	for r := range s.handlers {
		if r.sub != nil {
			subs = append(subs, r.sub)
		}
	}
	source := describe.Source{}
	s.describeSourceLocked(&source)
	s.mu.Unlock()
	if !runs {
		return nil
	}
	d := describe.Measured(core.Informer, subs)
	d.Informer, d.ObjectType = "shared informer", fmt.Sprintf("%T", s.objectType)
	source.Name = s.description
	d.Source = source
	return []describe.Description{d}
}

// MeasureAll describes several informers for package metrics, those of them that are
// kinform's and run.
func MeasureAll(informers []SharedIndexInformer) (all []Description) {
	for _, i := range informers {
		m, ok := i.(describe.Measurer)
		if !ok { // another implementation, perhaps around one of ours
			m, ok = i.GetController().(describe.Measurer)
		}
		if ok {
			all = append(all, m.Measure()...)
		}
	}
	return all
}

func (s *sharedIndexInformer) describeSourceLocked(to *describe.Source) {
	lw, ok := s.lw.(*dropin.ListWatch)
	if !ok {
		to.Via = fmt.Sprintf("objects of %T", dropin.Unscoped(s.lw))
		return
	}
	needs := lw.Needs
	if s.core.lazy != nil {
		needs = s.core.lazy.neediest()
	}
	q := lw.Asked(needs)
	if scope := s.scope.Load(); scope != nil {
		to.Namespaces = scope.Namespaces
		q.Namespace, q.LabelSelector, q.FieldSelector = "", dropin.Both(q.LabelSelector, scope.LabelSelector), dropin.Both(q.FieldSelector, scope.FieldSelector)
	}
	to.Query(q)
}

// describe describes the sharing of a core, seen from one of those that share;
// nil if it cannot be shared.
func (c *core) describe(self *sharedIndexInformer) *describe.Sharing {
	if c.lazy == nil {
		return nil
	}
	c.membersMu.Lock()
	defer c.membersMu.Unlock()
	sharing := &describe.Sharing{With: []string{}}
	for s := range c.members {
		if s != self {
			sharing.With = append(sharing.With, fmt.Sprintf("%T", s.objectType))
		}
	}
	slices.Sort(sharing.With)
	return sharing
}

// describe describes a handler; the informer is locked.
func (r *registration) describe() describe.Handler {
	h := describe.Handler{Name: handlerName(r.handler), Synced: r.HasSynced()}
	if r.sub != nil {
		h = describe.Subscriber(r.sub)
	}
	h.Type, h.Resync = fmt.Sprintf("%T", r.handler), describe.Duration(r.resync)
	return h
}

func (c *controller) describe() Description {
	o := c.config
	d := Description{
		At:         time.Now(),
		Informer:   "controller " + c.name,
		ObjectType: cmp.Or(o.ObjectDescription, fmt.Sprintf("%T", o.ObjectType)),
		Queue:      fmt.Sprintf("%T", o.Queue),
		Source: describe.Source{
			Name:     cmp.Or(o.ObjectDescription, fmt.Sprintf("%T", o.ObjectType)),
			Via:      fmt.Sprintf("objects of %T", o.ListerWatcher),
			List:     "WatchList where that is on, else LIST",
			PageSize: o.WatchListPageSize,
			Backoff:  &describe.Backoff{First: describe.Duration(backoffFirst), Most: describe.Duration(backoffMost)},
		},
		Resync:   describe.Resync{Default: describe.Duration(o.FullResyncPeriod)},
		Handlers: []describe.Handler{{Name: describe.Function(o.Process), Type: "ProcessFunc"}},
		Store:    describe.Store{Indexes: []string{}},
		// The queue's own methods may wait for a handler, which may be the caller.
		Status: describe.Status{Synced: IsDone(c.HasSyncedChecker()), Version: c.LastSyncResourceVersion()},
	}
	d.Source.ErrorHandler = cmp.Or(describe.Function(o.WatchErrorHandler), describe.Function(o.WatchErrorHandlerWithContext))
	if q, ok := o.Queue.(interface{ Transformer() TransformFunc }); ok {
		d.Store.Transform = describe.Function(q.Transformer())
	}
	if h := c.handler; h != nil {
		d.Handlers[0] = describe.Handler{Name: handlerName(h.handler), Type: fmt.Sprintf("%T", h.handler), Resync: d.Resync.Default}
		describeStore(&d.Store, h.store)
	}
	d.Handlers[0].Synced = d.Status.Synced
	c.mu.RLock()
	defer c.mu.RUnlock()
	d.Status.Started = c.reflector != nil
	return d
}

// describeStore describes a classic store.
func describeStore(to *describe.Store, s Store) {
	to.Objects, to.Held = len(s.ListKeys()), "objects"
	if x, ok := s.(Indexer); ok {
		to.Indexes = append(to.Indexes, slices.Sorted(maps.Keys(x.GetIndexers()))...)
	}
}

// describeForeign describes what the methods of another implementation show.
func describeForeign(informer interface{ LastSyncResourceVersion() string }) Description {
	d := Description{
		At:       time.Now(),
		Informer: fmt.Sprintf("%T, which is not kinform's", informer),
		Source:   describe.Source{Name: fmt.Sprintf("%T", informer)},
		Store:    describe.Store{Indexes: []string{}},
		Handlers: []describe.Handler{},
		Status:   describe.Status{Version: informer.LastSyncResourceVersion()},
	}
	if s, ok := informer.(interface{ HasSynced() bool }); ok {
		d.Status.Synced = s.HasSynced()
	}
	if s, ok := informer.(SharedInformer); ok {
		d.Status.Stopped = s.IsStopped()
		describeStore(&d.Store, s.GetStore())
	}
	return d
}

// neediest is what is asked for, or would be if it were now.
func (l *lazySource) neediest() dropin.Needs {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.needs
}
