package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// How outages are counted and seen: what failed, how often, when it is tried again, and
// when it is over.

// failed notes a failure, waits, and returns the next state.
func (r *Reflector) failed(err error, next state) state {
	r.failures++
	return r.failedAgain(max(r.failures, r.fruitless, r.brief), err, next)
}

// failedAgain is failed for what has failed a number of times.
func (r *Reflector) failedAgain(times int, err error, next state) state {
	if err == errStalled {
		err = fmt.Errorf("%s: nothing came for %v: %w", r.source, r.options.Silence, err)
	}
	r.polling, r.deaf, r.proving = false, false, false
	delay := r.options.Backoff.delay(times, err)
	err, reason := r.noteFailure(err, max(r.failures, 1), delay)
	if reason != NoResource {
		r.absent = 0
	}
	switch {
	case r.options.Policy == FailFast && reason.Refusal():
		return r.giveUp(reason, err)
	case reason == NoResource && r.status.get().Synced:
		return r.gone(err, delay, next)
	case r.options.Policy == Optional && reason == NoResource:
		r.absent++
		r.empty(err)
		return r.wait(Absent, delay, r.start)
	}
	return r.retry(reason, err, delay, next)
}

// retry waits after a failure, which is logged if it is one of another kind.
func (r *Reflector) retry(reason Reason, err error, delay time.Duration, next state) state {
	if r.news(reason) {
		r.collection.log.line("failed, and will be tried again", "source", r.source.String(),
			"reason", string(reason), "error", err, "in", delay)
	}
	return r.wait(Waiting, delay, next)
}

// lasting is how long a watch has to last for the failures before it not to count.
const lasting = 10 * time.Second

// apart is how long after one error another one has nothing to do with it: some proxies
// end all watches before they could be called lasting.
const apart = 2 * time.Minute

// noteEnd counts the watches that the server soon ends with an error, whatever they
// brought: it may do so each time. A watch that lasted and was cut is as good as one
// that ended; that nothing happened in it says nothing against it.
func (r *Reflector) noteEnd(err error) {
	if time.Since(r.briefAt) > max(apart, 2*r.options.Backoff.WithDefaults().Most) {
		r.brief = 0
	}
	var status apierrors.APIStatus
	opened := !r.openedAt.IsZero()
	lasted := opened && time.Since(r.openedAt) >= lasting
	switch said := errors.As(err, &status); {
	case said && lasted:
		r.brief = 0
	case said && (opened || isExpired(err)): // what was not taken up counts elsewhere
		r.brief, r.briefAt = r.brief+1, time.Now()
	case lasted:
		r.brief, r.failures, r.fruitless = 0, 0, 0
	}
}

// noteFailure has a failure counted and seen, and returns it in a readable length.
func (r *Reflector) noteFailure(err error, attempts int, delay time.Duration) (error, Reason) {
	err = shorten(r.source, err)
	reason := reasonOf(err)
	r.outage++
	r.status.update(func(s *Status) {
		s.Cause, s.Reason, s.Attempts, s.NextTry = err, reason, attempts, time.Now().Add(delay)
	})
	r.observe(Observation{Point: PointFailed, Reason: reason, Err: err})
	if r.options.OnFailure != nil && !(r.emptied && reason == NoResource) { // which is known
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

// wait is in a state for a while, and then continues. Who joins a source meanwhile and
// needs more of it does not have to wait.
func (r *Reflector) wait(in State, delay time.Duration, next state) state {
	return func(ctx context.Context) state {
		r.status.enter(in)
		t := time.NewTimer(delay)
		defer t.Stop()
		question := make(chan struct{}, 1)
		ask := func() {
			select {
			case question <- struct{}{}:
			default: // it is asked already
			}
		}
		if in == Polling {
			defer r.part.attend(ask)()
			defer r.demands.heed(ask)()
		}
		select {
		case <-t.C:
			return next
		case <-question:
			r.part.takeQuestion()
			return next
		case <-r.renewed():
			return r.renew
		case <-ctx.Done():
			return nil
		}
	}
}

// calm is how long no event must be out of order for the next one to be a surprise
// again.
const calm = 10 * time.Minute

// outOfOrder lists after an event whose order is not known: at once at first, then
// ever more rarely, as some proxies send such events all the time. Until the list is
// due the watch goes on, without that event: one object may be wrong, and the status
// says so; the others are not held up.
func (r *Reflector) outOfOrder(err error) state {
	if r.countDisorder() == 1 {
		return r.listFor(Disorder)
	}
	delay := r.options.Backoff.delay(r.disorders-1, nil)
	r.settleAt = time.Now().Add(delay)
	r.doubt, _ = r.noteFailure(fmt.Errorf("watch %s: %w", r.source, err), r.disorders, delay)
	r.outage-- // it is none: the watch goes on
	if r.disorders == 2 {
		r.collection.log.line("a list will show what happened to an object", "source", r.source.String(), "error", err, "in", delay)
	}
	return r.watch
}

// countDisorder returns how many surprises there were without a calm between them.
func (r *Reflector) countDisorder() int {
	if time.Since(r.disorderAt) > calm {
		r.disorders = 0
	}
	r.disorderAt = time.Now()
	r.disorders++
	return r.disorders
}

// wentBack asks a server what it has, whose bookmark was older than what we hold. If it
// only lags behind another one, or its bookmarks count something else, it is watched,
// and further such bookmarks in the same watch say nothing.
func (r *Reflector) wentBack(err error) state {
	r.suspect, r.lagging, r.probedAt = true, true, time.Time{}
	if !r.in.objects {
		return r.watch // which asks
	}
	r.consistent = true
	times := r.countDisorder() - 1
	if times == 0 {
		return r.listFor(WentBack)
	}
	r.failures++
	return r.failedAgain(times, fmt.Errorf("watch %s: %w", r.source, err), r.listFor(WentBack))
}

// answered notes that the server accepted a watch: the last failure is over for now.
// The count of failures is kept until the watch brings something.
func (r *Reflector) answered() {
	if r.deaf {
		return
	}
	r.polling = false
	r.status.update(r.overcome)
}

// overcome takes the last failure out of a status. Where a list is due, why it is counts
// again.
func (r *Reflector) overcome(s *Status) {
	s.Cause, s.Reason, s.Attempts, s.NextTry = nil, None, 0, time.Time{}
	if !r.settleAt.IsZero() {
		s.Cause, s.Reason, s.Attempts, s.NextTry = r.doubt, reasonOf(r.doubt), r.disorders, r.settleAt
	}
}

// healthy notes that the server sent something useful, and returns how many failures
// that ends. A list alone proves nothing where watches fail.
func (r *Reflector) healthy(listed bool) (overcome int) {
	failed := r.failures > 0
	r.failures, r.absent = 0, 0
	if !listed {
		r.fruitless = 0
	}
	if r.fruitless == 0 && !(listed && (r.polling || r.deaf)) {
		overcome = r.outage
		r.outage, r.logged = 0, nil
		r.staleLogged = r.staleLogged && overcome == 0
	}
	r.provenAt = time.Now()
	r.status.update(func(s *Status) {
		if failed && !r.polling {
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
