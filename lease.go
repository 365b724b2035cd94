package kinform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Lease is the use of an informer of a factory, from Acquire to Release.
//
// What is subscribed and indexed through the lease ends with it, and no later than the
// informer. Once it has ended with its last lease, its store is empty, and who waits for
// anything in it gets ErrEnded.
type Lease[T any] struct {
	*Informer[T]
	factory *Factory
	shared  *sharedCore
	grace   time.Duration

	mu       sync.Mutex
	subs     []*Subscription
	indexes  []string
	released bool
}

// Acquire is For, for those who will not need the informer for as long as the factory
// lives. The informer runs from its first Acquire on, or from the start of the factory if
// that comes later, until its last Release, and Options.Grace longer; then its watch ends,
// and its memory is given up. The next Acquire begins with a new one.
//
//	pods, err := kinform.Acquire[*corev1.Pod](factory, kinform.Options{})
//	if err != nil {
//		return err
//	}
//	defer pods.Release()
//	if err := pods.WaitSynced(ctx); err != nil {
//		return err
//	}
//
// What was asked for by For as well runs until the factory is shut down.
//
// Possible errors: those of For, and ErrShutDown.
func Acquire[T any](f *Factory, o Options) (*Lease[T], error) {
	t, err := structOf[T]()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrShutDown
	}
	s, err := f.coreForLocked(t, o)
	if err != nil {
		return nil, fmt.Errorf("kinform: %w", err)
	}
	s.users++
	s.acquired++
	if s.timer != nil {
		s.timer.Stop()
	}
	if f.ctx != nil {
		f.runLocked(s)
	}
	inf := &Informer[T]{core: s.core, view: s.views.of(t), tracer: o.over(f.defaults).Tracer}
	return &Lease[T]{Informer: inf, factory: f, shared: s, grace: o.over(f.defaults).Grace}, nil
}

// Release ends the lease: its subscriptions and indexes, and the informer if nobody else
// has acquired it. It waits for the handlers of its subscriptions, unless it is called by
// one, and not for the informer, which Done shows. Releasing twice does nothing.
func (l *Lease[T]) Release() {
	l.mu.Lock()
	subs, indexes, released := l.subs, l.indexes, l.released
	l.subs, l.indexes, l.released = nil, nil, true
	l.mu.Unlock()
	if released {
		return
	}
	for _, s := range subs {
		s.Stop()
	}
	for _, name := range indexes {
		_ = l.core.RemoveIndex(name) // it was added by the lease
	}
	l.factory.release(l.shared, l.grace)
}

// Done is closed when the informer has ended: its last lease was released, or the factory
// was shut down, and all its goroutines have returned.
func (l *Lease[T]) Done() <-chan struct{} { return l.shared.ended }

// Run is not for leases: the factory runs their informers.
func (l *Lease[T]) Run(context.Context) error { return ErrRunning }

// Subscribe is that of the informer, until the lease is released.
func (l *Lease[T]) Subscribe(handler func(context.Context, Event[T]), o SubscribeOptions) *Subscription {
	s := l.Informer.Subscribe(handler, o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		s.sub.Leave()
	} else {
		l.subs = append(l.subs, s)
	}
	return s
}

// AddIndex is that of the informer, until the lease is released.
func (l *Lease[T]) AddIndex(name string, values func(T) []string) (Index[T], error) {
	ix, err := l.Informer.AddIndex(name, values)
	return ix, l.indexed(name, err)
}

// AddFieldIndex is that of the informer, until the lease is released.
func (l *Lease[T]) AddFieldIndex(name, path string) (Index[T], error) {
	ix, err := l.Informer.AddFieldIndex(name, path)
	return ix, l.indexed(name, err)
}

// errReleased says that a lease was released.
var errReleased = errors.New("the lease has been released")

// indexed notes an index that was added.
func (l *Lease[T]) indexed(name string, err error) error {
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		_ = l.core.RemoveIndex(name)
		return fmt.Errorf("kinform: %s: index %q: %w", l.core.current(), name, errReleased)
	}
	l.indexes = append(l.indexes, name)
	return nil
}

// release counts one user less, and lets go of an informer that has no other, after a
// while.
func (f *Factory) release(s *sharedCore, grace time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if grace <= 0 {
		f.letGoLocked(s)
		return
	}
	acquired := s.acquired
	s.timer = time.AfterFunc(grace, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.acquired == acquired {
			f.letGoLocked(s)
		}
	})
}

// letGoLocked ends an informer that nobody uses.
func (f *Factory) letGoLocked(s *sharedCore) {
	if s.users > 0 || s.pinned || s.left {
		return
	}
	f.cores = slices.DeleteFunc(f.cores, func(o *sharedCore) bool { return o == s })
	switch s.left = true; {
	case !s.started:
		s.started = true // never, from now on
		close(s.ended)
		_ = s.Clear() // it does not run
	case s.over:
		_ = s.Clear()
	default:
		s.cancel()
	}
}

// runLocked runs an informer, if it does not run yet.
func (f *Factory) runLocked(s *sharedCore) {
	if s.started {
		return
	}
	s.started = true
	ctx, cancel := context.WithCancel(f.ctx)
	s.cancel = cancel
	f.running.Go(func() {
		defer close(s.ended)
		defer cancel()
		_ = s.Run(ctx) // Status and WaitSynced report a refusal
		f.mu.Lock()
		s.over = true
		left := s.left
		f.mu.Unlock()
		if left {
			_ = s.Clear() // it does not run
		}
	})
}
