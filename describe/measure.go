package describe

import (
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// Measurer is one or several informers of which metrics are taken: kinform's informers,
// leases and factories are, and what the drop-ins and package ctrlcache make is, whatever
// the interface that hides it.
type Measurer interface {
	// Measure describes what runs, or is about to, without what takes time to find out
	// or may have to wait for a writer. From the first call on, handlers and reads are
	// measured.
	Measure() []Description
}

// Measured describes what an informer counts and measures, and has it measure. Subs are
// the subscribers to include. The calling package adds the informer's types and queries.
func Measured(inf *engine.Informer, subs []*engine.Subscription) Description {
	inf.Collection.Measure()
	d := Description{
		At:       time.Now(),
		Engine:   inf.Number(),
		Store:    Store{Indexes: []string{}, Objects: inf.Len()},
		Handlers: []Handler{},
		Status:   status(inf),
	}
	if len(d.Status.Sources) > 0 { // a scope may be nothing
		d.Source.Name = d.Status.Sources[0].Source
	}
	d.Store.weigh(inf)
	d.Store.Rejected, _ = inf.Rejected()
	for _, sub := range subs {
		d.Handlers = append(d.Handlers, Subscriber(sub))
	}
	return d
}
