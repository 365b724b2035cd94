package kinform

import (
	"fmt"
	"reflect"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/predicate"
	"github.com/kinform/kinform/wire"
)

// Filter decides which updates a handler is called for, by the bytes of both states:
// nothing is decoded. It may be used by many goroutines. The zero Filter passes
// everything.
//
// A filter belongs to the informer that made it and its views, and to others with objects
// of the same Go type. On events of any other it passes everything: it was not checked with
// their type, and would read other fields.
type Filter struct {
	of   *predicate.Bound
	core *core
	typ  reflect.Type // that the paths were checked with
}

// Filter returns a filter that passes an update if one of some predicates accepts it:
//
//	filter, err := deployments.Filter(predicate.SpecChanged(), predicate.LabelsChanged())
//	…
//	deployments.Subscribe(handle, kinform.SubscribeOptions{Filter: filter})
//
// Events that are no updates always pass: EventAdded, EventDeleted, and EventResynced,
// which only a subscriber that asked for it gets. A filter sees one event at a time: Old
// is the state before, also where the handler was not called for that. Where events that
// waited were merged into one, the first state is compared with the last: what changed and
// changed back in between is no change.
//
// The error names what the informer's type does not have, as of Informer.Field.
func (inf *Informer[T]) Filter(anyOf ...predicate.Predicate) (Filter, error) {
	t, err := inf.pathType()
	if err != nil {
		return Filter{}, err
	}
	bound, err := predicate.Any(anyOf...).Bind(t)
	if err == nil && inf.core.query.Protobuf && !bound.Reads(wire.Protobuf) {
		err = fmt.Errorf("predicate %q: it asks for what is not a part of the objects in protobuf", predicate.Any(anyOf...))
	}
	if err != nil {
		return Filter{}, fmt.Errorf("kinform: %s: %w", inf.core.current(), err)
	}
	return Filter{bound, inf.core, t}, nil
}

// Passes reports whether a filter passes the event, for handlers that ask themselves.
func (e Event[T]) Passes(f Filter) bool {
	return e.inf == nil || !e.inf.obeys(f) || f.passes(e.delta)
}

// obeys reports whether a filter belongs to the informer, and may refuse something.
func (inf *Informer[T]) obeys(f Filter) bool {
	if f.of == nil || f.of.Everything() {
		return false
	}
	if f.core == inf.core {
		return true
	}
	t, err := inf.pathType()
	return err == nil && t == f.typ
}

func (f Filter) passes(d engine.Delta) (passes bool) {
	if d.Kind != engine.Updated || d.Old == nil {
		return true
	}
	format := d.New.Format()
	if format != d.Old.Format() || !f.of.Reads(format) {
		return true
	}
	_ = decode.With(d.Old, func(old []byte) error {
		return decode.With(d.New, func(now []byte) error {
			passes = f.of.Bytes(format, old, now)
			return nil
		})
	})
	return passes
}
