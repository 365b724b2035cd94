package kinform

import (
	"fmt"

	"github.com/kinform/kinform/engine"
	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/predicate"
	"github.com/kinform/kinform/wire"
)

// Filter decides which updates a handler is called for, by the bytes of both states:
// nothing is decoded. It may be used by many goroutines. The zero Filter passes
// everything.
type Filter struct{ of *predicate.Bound }

// Filter returns a filter that passes an update if one of some predicates accepts it:
//
//	filter, err := deployments.Filter(predicate.SpecChanged(), predicate.LabelsChanged())
//	…
//	deployments.Subscribe(handle, kinform.SubscribeOptions{Filter: filter})
//
// Events that are no updates always pass: EventAdded, EventDeleted, and EventResynced,
// which only a subscriber that asked for it gets. A filter sees one event at a time: Old
// is the state before, also where the handler was not called for that.
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
		return Filter{}, fmt.Errorf("kinform: %s: %w", inf.core.query, err)
	}
	return Filter{bound}, nil
}

// Passes reports whether a filter passes the event, for handlers that ask themselves.
func (e Event[T]) Passes(f Filter) bool { return f.passes(e.delta) }

func (f Filter) isZero() bool { return f.of == nil || f.of.Everything() }

func (f Filter) passes(d engine.Delta) (passes bool) {
	if d.Kind != engine.Updated || d.Old == nil || f.isZero() {
		return true
	}
	format := d.New.Format()
	if format != d.Old.Format() {
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
