package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/check"
)

// subject is an informer of any kind.
type subject interface {
	Run(context.Context) error
	// progress of its lists and watches.
	progress() []progress
}

// progress is how far a list and watch has come, and what it did on the way.
type progress struct {
	version                         uint64
	lists, watches, expired, epochs uint64
	doing                           string // and why not something better
}

// doing says what a list and watch is doing.
func doing(source, state string, cause string, attempts int, next time.Time) string {
	text := source + ": " + state
	if cause != "" {
		text += fmt.Sprintf(", failed %d times: %s", attempts, cause)
	}
	if wait := time.Until(next); wait > 0 {
		text += fmt.Sprintf(", tried again in %s", wait.Round(time.Millisecond))
	}
	return text
}

// member is one informer of the run, and those who subscribe to it and read it.
type member struct {
	name     string
	informer subject
	checkers []*check.Checker // one for each view; the first is the informer's own
	readers  []reader
	rng      *rand.Rand // of the goroutine that plays the run
	joined   atomic.Uint64
	// meddled counts the changes that those got who change objects.
	meddled atomic.Uint64
	// again makes another one in its place, where an informer runs only once.
	again func() (*member, error)
	leave func() // gives back what it had for itself
	// rescoped: its scope is changed while it runs.
	rescoped bool

	cancel context.CancelFunc // nil while it does not run
	ended  chan struct{}
	failed error
}

// start runs the informer, if it does not run.
func (m *member) start(ctx context.Context) {
	if m.cancel != nil {
		return
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		m.failed = m.informer.Run(ctx)
	}()
}

// stop returns when the informer's Run has, with what that returned.
func (m *member) stop() error {
	if m.cancel == nil {
		return nil
	}
	m.cancel()
	<-m.ended
	m.cancel = nil
	if m.failed != nil {
		return fmt.Errorf("the informer of %s gave up: %w", m.name, m.failed)
	}
	return nil
}

func (m *member) tally() tally {
	var t tally
	t.delivered.Changes = m.meddled.Load()
	for _, c := range m.checkers {
		violations, violated := c.Violations()
		t.add(tally{delivered: c.Delivered(), violations: violations, violated: violated})
	}
	if m.again != nil {
		return t // several may stand on the same list and watch, which would be counted often
	}
	for _, p := range m.informer.progress() {
		t.lists += p.lists
		t.watches += p.watches
		t.expired += p.expired
		t.epochs += p.epochs
	}
	return t
}

// stopSome stops an informer at times; it runs again in the next round, with what
// was written meanwhile. One that runs only once is replaced.
func (r *run) stopSome() error {
	var errs []error
	for i, m := range r.members {
		if r.rng.IntN(5) > 0 {
			continue
		}
		if m.again == nil {
			errs = append(errs, m.stop())
			continue
		}
		errs = append(errs, r.depart(m))
		next, err := m.again()
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		r.members[i] = next
	}
	return errors.Join(errs...)
}

// depart ends an informer for good.
func (r *run) depart(m *member) error {
	for _, c := range m.checkers {
		c.Stop()
	}
	err := m.stop()
	r.report.left.add(m.tally())
	r.report.Joined += m.joined.Load()
	if m.leave != nil {
		m.leave()
	}
	return err
}

// farewell ends guests.
func (r *run) farewell(guests ...*member) error {
	r.members = slices.DeleteFunc(r.members, func(o *member) bool { return slices.Contains(guests, o) })
	var errs []error
	for _, m := range guests {
		errs = append(errs, r.depart(m))
	}
	return errors.Join(errs...)
}

// dismiss ends all informers.
func (r *run) dismiss() error {
	var errs []error
	for _, m := range r.members {
		errs = append(errs, r.depart(m))
	}
	r.members = nil
	r.collect()
	return errors.Join(errs...)
}
