package cache

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/consistencydetector"
)

// errIncomplete: a watch ended, or fell silent, before its first events were
// complete.
var errIncomplete = errors.New("the watch did not bring the state of all objects")

// fillFromWatch replaces what the store has with the events that a watch begins
// with, up to the bookmark that ends them, and returns the watch to continue with. It
// returns an error if a list should be tried instead.
func (r *StoreReflector) fillFromWatch(ctx context.Context) (watch.Interface, error) {
	for {
		state := newStreamedState(r.store)
		w, err := r.streamState(ctx, state)
		switch {
		case err == nil:
			if err = r.replaceWith(ctx, state); err != nil {
				w.Stop()
				return nil, err
			}
			return w, nil
		case !r.mayStreamAgain(ctx, err):
			return nil, err
		}
	}
}

// streamState reads the events that a watch begins with. The watch is left open.
func (r *StoreReflector) streamState(ctx context.Context, state *streamedState) (watch.Interface, error) {
	e := events{r: r, store: state, started: r.clock.Now(), initial: true, advance: state.advance}
	initialEvents := true
	w, err := r.source.WatchWithContext(ctx, metav1.ListOptions{
		ResourceVersion:      r.streamVersion(),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &initialEvents,
		AllowWatchBookmarks:  true,
		TimeoutSeconds:       r.watchTimeout(),
	})
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, errNoWatch
	}
	if err = e.consume(ctx, w, nil); err == nil && !e.complete {
		err = errIncomplete
	}
	if err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

// mayStreamAgain decides whether another such watch may bring what this one did
// not; it waits if the server is unreachable or asks for that.
func (r *StoreReflector) mayStreamAgain(ctx context.Context, err error) bool {
	switch {
	case isWorthWaiting(err):
		r.logger(ctx).V(2).Info("watch-list failed - backing off", "err", err)
		return r.pause(ctx)
	case isExpired(err), isTooLarge(err):
		r.setUnavailable(true)
		return true
	}
	return false
}

func (r *StoreReflector) replaceWith(ctx context.Context, state *streamedState) error {
	r.setUnavailable(false)
	if consistencydetector.IsDataConsistencyDetectionForWatchListEnabled() {
		consistencydetector.CheckDataConsistency(ctx, r.name, state.version, r.source.ListWithContext,
			consistencydetector.TransformFunc(state.transform), metav1.ListOptions{}, state.objects)
	}
	if err := r.store.Replace(state.objects(), state.version); err != nil {
		return fmt.Errorf("unable to sync watch-list result: %w", err)
	}
	r.setVersion(state.version)
	return nil
}

// streamedState gathers the state of all objects, in the order in which they came,
// transformed as the target store would. It is a [ReflectorStore].
type streamedState struct {
	transform TransformFunc
	slots     []slot
	place     map[string]int // of a key in slots
	version   string
}

// slot has an object, unless that was deleted meanwhile.
type slot struct {
	obj  any
	gone bool
}

func newStreamedState(target ReflectorStore) *streamedState {
	s := &streamedState{place: map[string]int{}}
	if store, ok := target.(TransformingStore); ok {
		s.transform = store.Transformer()
	}
	return s
}

func (s *streamedState) Add(obj any) error { return s.Update(obj) }

func (s *streamedState) Update(obj any) error {
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	if s.transform != nil {
		if obj, err = s.transform(obj); err != nil {
			return fmt.Errorf("transforming: %w", err)
		}
	}
	i, ok := s.place[key]
	if !ok {
		i = len(s.slots)
		s.slots = append(s.slots, slot{})
		s.place[key] = i
	}
	s.slots[i] = slot{obj: obj}
	return nil
}

func (s *streamedState) Delete(obj any) error {
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	if i, ok := s.place[key]; ok {
		s.slots[i] = slot{gone: true}
	}
	return nil
}

func (s *streamedState) objects() []any {
	objects := make([]any, 0, len(s.slots))
	for _, slot := range s.slots {
		if !slot.gone {
			objects = append(objects, slot.obj)
		}
	}
	return objects
}

func (s *streamedState) advance(version string)      { s.version = version }
func (s *streamedState) Replace([]any, string) error { return errors.ErrUnsupported }
func (s *streamedState) Resync() error               { return errors.ErrUnsupported }
