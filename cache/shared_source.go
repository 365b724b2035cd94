package cache

import (
	"context"
	"errors"
	"sync"

	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// lazySource decides what to ask the server for when it is first used: by then it
// is known who is going to read. One that grows decides again when a reader joins who
// needs more. Its watch then ends, so that the engine asks for everything and compares
// all of it with what it has. The store is never without an object, and never goes
// back. It is an engine.Renewing.
type lazySource struct {
	name  string
	open  func(dropin.Needs) engine.Source
	grows bool

	mu     sync.Mutex
	needs  dropin.Needs
	used   engine.Source // nil until the first request
	asked  dropin.Needs  // what used is asked for
	more   chan struct{} // closed while that is less than what is needed
	growth *growth       // nil: none is under way
	cut    context.CancelFunc
}

// growth is under way from the moment at which a reader joins who needs more, until
// the store has that.
type growth struct {
	from dropin.Needs // what the store shows meanwhile
	done chan struct{}
}

// admit reports whether a reader with such needs can be served, and takes it into
// account. If grown is not nil, that is so once it is closed; else once the first list
// is in the store.
func (l *lazySource) admit(n dropin.Needs) (grown <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.used == nil:
		l.needs = max(l.needs, n)
		return nil, true
	case n <= l.showsLocked():
		return nil, true
	case !l.grows:
		return nil, false
	}
	if l.growth == nil {
		l.growth = &growth{from: l.asked, done: make(chan struct{})}
	}
	if n > l.needs {
		if l.asked == l.needs {
			close(l.more)
		}
		l.needs = n
		if l.cut != nil {
			l.cut()
		}
	}
	return l.growth.done, true
}

// showsLocked is for which readers the store has what they need, or will have it with
// its first list.
func (l *lazySource) showsLocked() dropin.Needs {
	if l.growth != nil {
		return l.growth.from
	}
	return l.asked
}

// isBehind reports whether what is asked for is less than what is needed.
func (l *lazySource) isBehind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked < l.needs
}

func (l *lazySource) String() string { return l.name }

// Gone asks whether the resource has gone for good, if the source that is used can.
func (l *lazySource) Gone(ctx context.Context) error {
	l.mu.Lock()
	used := l.used
	l.mu.Unlock()
	if d, ok := used.(engine.Discovering); ok {
		return d.Gone(ctx)
	}
	return errors.New("what the server serves is not known")
}

// Renewed is closed while less is asked for than what is needed.
func (l *lazySource) Renewed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.more
}

// openLocked asks for what is needed from now on.
func (l *lazySource) openLocked() {
	l.used, l.asked, l.more = l.open(l.needs), l.needs, make(chan struct{})
}

// List starts a list, of as much as is needed by now.
func (l *lazySource) List(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	source, err := l.forList(o)
	if err != nil {
		return nil, err
	}
	return source.List(ctx, o)
}

func (l *lazySource) forList(o engine.ListOptions) (engine.Source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.used != nil && (l.asked == l.needs || o.Probe || o.Metadata):
		return l.used, nil
	case l.used != nil && o.ResourceVersion != "":
		return nil, engine.ErrRenewed // a consistent list follows
	}
	l.openLocked()
	return l.used, nil
}

// Watch starts a watch, which the engine does when a list is in the store.
func (l *lazySource) Watch(ctx context.Context, o engine.WatchOptions) (engine.WatchStream, error) {
	l.mu.Lock()
	if l.used == nil {
		l.openLocked()
	}
	if l.asked < l.needs {
		l.mu.Unlock()
		return nil, engine.ErrRenewed
	}
	if l.growth != nil {
		close(l.growth.done)
		l.growth = nil
	}
	source := l.used
	ctx, l.cut = context.WithCancel(ctx)
	cut := l.cut
	l.mu.Unlock()
	stream, err := source.Watch(ctx, o)
	if err != nil {
		cut()
		return nil, l.cause(err)
	}
	return &lazyWatch{stream, l, cut}, nil
}

// cause returns why a watch ended with an error.
func (l *lazySource) cause(err error) error {
	if l.isBehind() {
		return engine.ErrRenewed
	}
	return err
}

// lazyWatch is a watch that ends when the source grows.
type lazyWatch struct {
	engine.WatchStream
	source *lazySource
	cut    context.CancelFunc
}

func (w *lazyWatch) Next() (engine.Event, error) {
	ev, err := w.WatchStream.Next()
	if err != nil {
		err = w.source.cause(err)
	}
	return ev, err
}

func (w *lazyWatch) Close() error {
	w.cut()
	return w.WatchStream.Close()
}

// heldOtherwise reports whether a change is one of how an object is held, and not of
// the object: the source has grown, and has brought the same state in another encoding.
func (s *sharedIndexInformer) heldOtherwise(d engine.Delta) bool {
	return s.sameState(d) && d.Old.Format() != d.New.Format()
}

// heldWhole reports whether a change may be one of how much of an object is held: the
// source has grown, and an informer of metadata sees no more of the same state.
func (s *sharedIndexInformer) heldWhole(d engine.Delta) bool {
	return s.sameState(d) && s.lw.(*dropin.ListWatch).Needs == dropin.Metadata
}

// sameState reports whether a source that grows has brought a state again.
func (s *sharedIndexInformer) sameState(d engine.Delta) bool {
	lw, ok := s.lw.(*dropin.ListWatch)
	return ok && lw.Grows && d.Kind == engine.Updated && d.Old.Version() == d.New.Version() && d.Old.UID() == d.New.UID()
}
