package cache

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/predicate"
)

// FilteringUpdateHandler is a handler that is not called for updates that a predicate
// refuses:
//
//	informer.AddEventHandler(cache.FilteringUpdateHandler{
//		Predicate: predicate.Any(predicate.GenerationChanged(), predicate.LabelsChanged()),
//		Handler:   handler,
//	})
//
// On the shared informers of this package the predicate is asked of the bytes of both
// states, so that an update that is refused is never decoded. Where there are no bytes,
// and on any other informer, it is asked of the objects, with the same answers.
//
// Adds and deletes pass. A resync is an update that changes nothing, so it is refused, as
// it is by a handler that compares the two objects.
//
// AddEventHandler returns an error if the informer's objects have a Go type without the
// fields that the predicate asks for, or if there is no Handler. The Handler may be another
// FilteringUpdateHandler: then both predicates must accept an update.
type FilteringUpdateHandler struct {
	Predicate predicate.Predicate
	Handler   ResourceEventHandler
	// AsSent has the predicate asked of the states as the server sent them, also where
	// the informer has a transform. Set it where the transform only leaves out what the
	// predicate does not ask for, such as metadata.managedFields. Default: the predicate
	// is asked of what the transform made of both, as handlers see it, for which they are
	// decoded. Where the source gives objects and no bytes, as a ListWatch of functions
	// does, the transform comes first, and AsSent changes nothing.
	AsSent bool
}

// OnAdd passes on an add.
func (f FilteringUpdateHandler) OnAdd(obj any, isInInitialList bool) {
	f.Handler.OnAdd(obj, isInInitialList)
}

// OnUpdate passes on an update that the predicate accepts.
func (f FilteringUpdateHandler) OnUpdate(oldObj, newObj any) {
	if f.Predicate.Objects(oldObj, newObj) {
		f.Handler.OnUpdate(oldObj, newObj)
	}
}

// OnDelete passes on a delete.
func (f FilteringUpdateHandler) OnDelete(obj any) { f.Handler.OnDelete(obj) }

// updateFilter is the predicate of a handler of a shared informer.
type updateFilter struct {
	of     *predicate.Bound
	asSent bool
}

// unwrap returns the filters of a handler, the outermost first, and the handler behind them.
func (s *sharedIndexInformer) unwrap(h ResourceEventHandler) (_ ResourceEventHandler, filters []updateFilter, err error) {
	for {
		var f FilteringUpdateHandler
		switch h := h.(type) {
		case FilteringUpdateHandler:
			f = h
		case *FilteringUpdateHandler:
			if h != nil {
				f = *h
			}
		default:
			return h, filters, nil
		}
		if f.Handler == nil {
			return nil, nil, fmt.Errorf("%T has no Handler", f)
		}
		bound, err := f.Predicate.Bind(s.structType())
		if err != nil {
			return nil, nil, fmt.Errorf("handler %s was not added to the informer of %s: %w", handlerName(f.Handler), s.description, err)
		}
		if !bound.Everything() {
			filters = append(filters, updateFilter{bound, f.AsSent})
		}
		h = f.Handler
	}
}

// structType is the type of the objects, nil if they have none.
func (s *sharedIndexInformer) structType() reflect.Type {
	t := reflect.TypeOf(s.objectType)
	if _, loose := s.objectType.(*unstructured.Unstructured); t == nil || loose {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// wants reports whether the handler wants a delta: all of its filters accept it. Only its
// own goroutine calls it.
func (r *registration) wants(d engine.Delta) bool {
	if d.Kind != engine.Updated && (d.Kind != engine.Resynced || d.Replayed) {
		return true
	}
	if _, unread := r.unread[d.Key()]; unread || r.informer.heldOtherwise(d) {
		return true // it may be the first state that can be read, or is none
	}
	for i := range r.filters {
		if !r.accepts(&r.filters[i], d) {
			return false
		}
	}
	return true
}

func (r *registration) accepts(f *updateFilter, d engine.Delta) bool {
	if passes, ok := f.bytes(d, r.informer); ok {
		return passes
	}
	now, err := r.informer.delivered(d)
	if err != nil {
		return true // it is reported
	}
	old, err := r.informer.object(d.Old)
	if err != nil {
		return true // nobody knows
	}
	return f.of.Objects(old, now)
}

// bytes asks of the bytes; ok is false if the objects have to be asked. What came as
// objects went through the transform before it became bytes.
func (f *updateFilter) bytes(d engine.Delta, s *sharedIndexInformer) (passes, ok bool) {
	format := d.New.Format()
	_, sent := s.lw.(*dropin.ListWatch)
	if s.transformer() != nil && sent && !f.asSent || format != d.Old.Format() || !f.of.Reads(format) ||
		d.Old.Object() != nil || d.New.Object() != nil {
		return false, false
	}
	_ = decode.With(d.Old, func(old []byte) error {
		return decode.With(d.New, func(now []byte) error {
			passes = f.of.Bytes(format, old, now)
			return nil
		})
	})
	return passes, true
}
