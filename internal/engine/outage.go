package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
)

// How outages are counted and seen: what failed, how often, when it is tried again, and
// when it is over.

// noteDone has a failure seen that the machine has counted.
func (r *Reflector) noteDone(do machine.Do) {
	err, backoff := r.err, r.options.Backoff
	if err == errStalled {
		err = fmt.Errorf("%s: nothing came for %v: %w", r.source, r.options.Silence, err)
	}
	if do.Polls {
		backoff = backoff.WithDefaults()
		backoff.Most = r.options.Poll
		backoff.First = min(backoff.First, backoff.Most)
	}
	r.delay = backoff.delay(do.Times, err)
	r.err, r.reason = r.noteFailure(err, do.Attempts, r.delay)
	if do.Doubt {
		r.doubted(do)
	}
}

// lasting is how long a watch has to last for the failures before it not to count.
const lasting = 10 * time.Second

// apart is how long after one error another one has nothing to do with it: some proxies
// end all watches before they could be called lasting.
const apart = 2 * time.Minute

// noteFailure has a failure counted and seen, and returns it in a readable length.
func (r *Reflector) noteFailure(err error, attempts int, delay time.Duration) (error, Reason) {
	err = shorten(r.source, err)
	reason := reasonOf(err)
	r.outage++
	r.status.update(func(s *Status) {
		s.Cause, s.Reason, s.Attempts, s.NextTry = err, reason, attempts, time.Now().Add(delay)
	})
	r.observe(Observation{Point: PointFailed, Reason: reason, Err: err})
	if r.options.OnFailure != nil && !(r.known.Emptied && reason == NoResource) { // which is known
		r.options.OnFailure(err)
	}
	return err, reason
}

// news reports whether a failure is of a kind that was not logged since the last
// recovery.
func (r *Reflector) news(reason Reason) bool {
	if r.logged[reason] {
		return false
	}
	if r.logged == nil {
		r.logged = map[Reason]bool{}
	}
	r.logged[reason] = true
	return true
}

// wait waits for as long as the last failure needs. Who joins a source meanwhile and
// needs more of it does not have to wait.
func (r *Reflector) wait(ctx context.Context, do machine.Do) machine.Do {
	r.logWait(do)
	r.show(do)
	t := time.NewTimer(r.delay)
	defer t.Stop()
	question := make(chan struct{}, 1)
	ask := func() {
		select {
		case question <- struct{}{}:
		default: // it is asked already
		}
	}
	if do.Show == machine.ShowPolling {
		defer r.part.attend(ask)()
		defer r.demands.heed(ask)()
	}
	over := machine.Happened{What: machine.Waited}
	select {
	case <-t.C:
	case <-question:
		r.part.takeQuestion()
	case <-r.renewed():
		over.Failure = machine.Renewal
	case <-ctx.Done():
		over.Failure = machine.Stop
	}
	return r.tell(over)
}

// logWait logs a failure if it is one of another kind.
func (r *Reflector) logWait(do machine.Do) {
	if do.Show == machine.ShowAbsent || !r.news(r.reason) {
		return
	}
	if do.Show == machine.ShowPolling {
		r.collection.log.line("cannot be watched, and is listed at intervals instead", "source", r.source.String(),
			"reason", string(r.reason), "error", r.err, "interval", r.options.Poll)
		return
	}
	r.collection.log.line("failed, and will be tried again", "source", r.source.String(),
		"reason", string(r.reason), "error", r.err, "in", r.delay)
}

// calm is how long no event must be out of order for the next one to be a surprise
// again.
const calm = 10 * time.Minute

// doubted notes that a list will show what an event was, which the watch goes on without.
func (r *Reflector) doubted(do machine.Do) {
	r.settleAt = time.Now().Add(r.delay)
	r.doubt = r.err
	r.outage-- // it is none: the watch goes on
	if do.Attempts == 2 {
		r.collection.log.line("a list will show what happened to an object", "source", r.source.String(),
			"error", r.err, "in", r.delay)
	}
}

// overcome takes the last failure out of a status. Where a list is due, why it is counts
// again.
func (r *Reflector) overcome(s *Status) {
	s.Cause, s.Reason, s.Attempts, s.NextTry = nil, None, 0, time.Time{}
	if !r.settleAt.IsZero() {
		s.Cause, s.Reason, s.Attempts, s.NextTry = r.doubt, reasonOf(r.doubt), r.known.Disorders, r.settleAt
	}
}

// healthy notes that the server sent something useful, and returns how many failures
// that ends.
func (r *Reflector) healthy(do machine.Do, listed bool) (overcome int) {
	if do.Well {
		overcome = r.outage
		r.outage, r.logged = 0, nil
		r.staleLogged = r.staleLogged && overcome == 0
	}
	r.provenAt = time.Now()
	r.status.update(func(s *Status) {
		if do.Overcome {
			r.overcome(s)
		}
		s.Version, s.LastContact = r.version, r.provenAt
		s.Events, s.Bookmarks = r.events, r.bookmarks
		if listed {
			s.sync(r.ranAt)
		}
	})
	return overcome
}

func (r *Reflector) logRecovered(failures int) {
	if failures > 0 {
		r.collection.log.line("recovered", "source", r.source.String(), "failures", failures)
	}
}
