package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// ListerWatcher lists and watches objects. It has the methods of client-go's
// cache.ListerWatcher.
type ListerWatcher interface {
	List(metav1.ListOptions) (runtime.Object, error)
	Watch(metav1.ListOptions) (watch.Interface, error)
}

// contextual has the methods that newer ListerWatchers add.
type contextual interface {
	ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error)
	WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// objectSource asks a ListerWatcher.
type objectSource struct {
	name string
	lw   ListerWatcher
}

// NewObjectSource returns a source of objects. The name is for messages.
func NewObjectSource(name string, lw ListerWatcher) engine.Source {
	return &objectSource{name, lw}
}

func (s *objectSource) String() string { return s.name }

// ListsWhole says that a list arrives all at once.
func (s *objectSource) ListsWhole() {}

func (s *objectSource) List(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	l := &objectList{source: s, ctx: ctx, options: o}
	if err := l.open(""); err != nil {
		return nil, err
	}
	return l, nil
}

// objectList hands out the items of a list of objects, page after page.
type objectList struct {
	source  *objectSource
	ctx     context.Context
	options engine.ListOptions
	items   []runtime.Object
	meta    wire.ListMeta
}

func (l *objectList) open(next string) error {
	o := metav1.ListOptions{Limit: l.options.Limit, Continue: next}
	if next == "" {
		o.ResourceVersion = l.options.ResourceVersion
		if o.ResourceVersion != "" && o.ResourceVersion != "0" {
			o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
	}
	list, err := l.source.list(l.ctx, o)
	if err != nil {
		return fmt.Errorf("list %s: %w", l.source, err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("list %s: %T is not a list: %w", l.source, list, err)
	}
	if l.items, err = meta.ExtractList(list); err != nil {
		return fmt.Errorf("list %s: %w", l.source, err)
	}
	l.meta = wire.ListMeta{ResourceVersion: m.GetResourceVersion(), Continue: m.GetContinue(), Remaining: -1}
	return nil
}

// list calls the program's list function and waits for it, or for ctx to end: the
// function may ignore ctx, and must not keep an informer from being stopped. A result
// that comes later is dropped. A panic is passed on to the caller's goroutine.
func (s *objectSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	type result struct {
		list     runtime.Object
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errExited}
		defer func() {
			if p := recover(); p != nil {
				r.panicked = p
			}
			done <- r
		}()
		if c, ok := s.lw.(contextual); ok {
			r.list, r.err = c.ListWithContext(ctx, o)
		} else {
			r.list, r.err = s.lw.List(o)
		}
	}()
	var late <-chan time.Time
	for ended := ctx.Done(); ; {
		select {
		case r := <-done:
			if r.panicked != nil {
				panic(r.panicked)
			}
			return r.list, r.err
		case <-ended:
			ended, late = nil, time.After(stopping) // most return now
		case <-late:
			return nil, context.Cause(ctx)
		}
	}
}

// stopping is how long to wait for a program's own function after its context has
// ended.
const stopping = 100 * time.Millisecond

// errExited: a list function ended its goroutine.
var errExited = errors.New("the list function called runtime.Goexit")

func (l *objectList) Next() (engine.Item, error) {
	for len(l.items) == 0 {
		if l.meta.Continue == "" || l.options.Probe {
			return engine.Item{}, io.EOF
		}
		if err := l.open(l.meta.Continue); err != nil {
			return engine.Item{}, err
		}
	}
	obj := l.items[0]
	l.items[0] = nil
	l.items = l.items[1:]
	return engine.Item{Object: obj}, nil
}

func (l *objectList) Meta() wire.ListMeta { return l.meta }
func (l *objectList) Received() int64     { return 0 }
func (l *objectList) Close() error        { return nil }

func (s *objectSource) Watch(ctx context.Context, o engine.WatchOptions) (engine.WatchStream, error) {
	seconds := int64(o.Timeout.Seconds())
	mo := metav1.ListOptions{
		ResourceVersion:     o.ResourceVersion,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
	}
	if o.InitialEvents {
		yes := true
		mo.SendInitialEvents, mo.ResourceVersionMatch = &yes, metav1.ResourceVersionMatchNotOlderThan
	}
	// The request outlives ctx until Close: a watch that is ended by its context may
	// try to send a last error when nobody receives any more.
	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	opening := context.AfterFunc(ctx, cancel)
	w, err := s.watch(request, mo)
	opening()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch %s: %w", s, err)
	}
	return &objectWatch{source: s, ctx: ctx, watch: w, cancel: cancel}, nil
}

func (s *objectSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if c, ok := s.lw.(contextual); ok {
		return c.WatchWithContext(ctx, o)
	}
	return s.lw.Watch(o)
}

type objectWatch struct {
	source *objectSource
	ctx    context.Context
	watch  watch.Interface
	cancel context.CancelFunc
}

var eventTypes = map[watch.EventType]wire.EventType{
	watch.Added:    wire.Added,
	watch.Modified: wire.Modified,
	watch.Deleted:  wire.Deleted,
	watch.Bookmark: wire.Bookmark,
}

func (w *objectWatch) Next() (engine.Event, error) {
	for {
		select {
		case <-w.ctx.Done():
			return engine.Event{}, w.ctx.Err()
		case ev, ok := <-w.watch.ResultChan():
			switch {
			case !ok:
				return engine.Event{}, io.EOF
			case ev.Type == watch.Error:
				return engine.Event{}, fmt.Errorf("watch %s: %w", w.source, apierrors.FromObject(ev.Object))
			case eventTypes[ev.Type] == 0:
				utilruntime.HandleError(fmt.Errorf("watch %s: unknown type of event %q", w.source, ev.Type))
				continue
			case ev.Object == nil:
				utilruntime.HandleError(fmt.Errorf("watch %s: an event %q without an object", w.source, ev.Type))
				continue
			}
			return engine.Event{Type: eventTypes[ev.Type], Item: engine.Item{Object: ev.Object}, InitialEnd: isInitialEnd(ev)}, nil
		}
	}
}

func isInitialEnd(ev watch.Event) bool {
	if ev.Type != watch.Bookmark {
		return false
	}
	o, err := meta.Accessor(ev.Object)
	return err == nil && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func (w *objectWatch) Buffered() bool { return len(w.watch.ResultChan()) > 0 }

func (w *objectWatch) Close() error {
	w.watch.Stop()
	w.cancel()
	// A watch may be blocked sending; it ends when the value is received. A watch that
	// never closes its channel is not waited for.
	late := time.NewTimer(stopping)
	defer late.Stop()
	for {
		select {
		case _, open := <-w.watch.ResultChan():
			if !open {
				return nil
			}
		case <-late.C:
			return nil
		}
	}
}
