package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Policy says how a reflector treats a refusal: an answer that retrying is unlikely to
// change.
type Policy uint8

const (
	// KeepTrying treats every failure as temporary, but for a resource that was in the
	// store and that the server's discovery does not have any more: that is empty.
	KeepTrying Policy = iota
	// FailFast ends Run when the client is not authenticated (401) or not allowed
	// (403), or the resource is not served (404), for a list or a watch.
	FailFast
	// Optional treats a resource whose list is answered with 404 as empty, until it is
	// served.
	Optional
)

// String returns the policy in lower case.
func (p Policy) String() string {
	switch p {
	case KeepTrying:
		return "keep-trying"
	case FailFast:
		return "fail-fast"
	case Optional:
		return "optional"
	}
	return "unknown"
}

// ErrRefused says that an informer has ended because the server refused it.
var ErrRefused = errors.New("the server refused, and the policy is to fail fast")

// RefusedError is what ended Run under the policy FailFast.
type RefusedError struct {
	// Source is what was to be listed and watched.
	Source string
	// Reason is Unauthorized, Forbidden or NoResource.
	Reason Reason
	// Err is the server's answer.
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s refused (%s): %v", e.Source, e.Reason, e.Err)
}

// Unwrap gives the server's answer and ErrRefused, for errors.Is and errors.As.
func (e *RefusedError) Unwrap() []error { return []error{e.Err, ErrRefused} }

// giveUp ends Run.
func (r *Reflector) giveUp(reason Reason, err error) state {
	r.status.update(func(s *Status) { s.NextTry = time.Time{} })
	r.refused = &RefusedError{Source: r.source.String(), Reason: reason, Err: err}
	r.collection.log.line("refused, and ends: the policy is to fail fast", "source", r.source.String(),
		"reason", string(reason), "error", err)
	return nil
}

// gone finds out whether a resource that was in the store is not served any more, as its
// definition was deleted. The server's discovery has to say so: what a program has not
// called optional must not vanish because a proxy answers with 404.
func (r *Reflector) gone(err error, delay time.Duration, next state) state {
	r.absent++
	d, ok := r.source.(Discovering)
	if !ok || !r.emptied && r.absent < absentAfter {
		return r.retry(NoResource, err, delay, next)
	}
	return func(ctx context.Context) state {
		if !r.emptied {
			ask, cancel := context.WithTimeout(ctx, catchUp)
			defer cancel()
			if served, unknown := d.Served(ask); served || unknown != nil {
				return r.retry(NoResource, err, delay, next)
			}
			r.empty(err)
		}
		return r.wait(Absent, delay, r.start)
	}
}

// absentAfter is how many answers in a row it takes to believe that a resource is no
// longer served. One server of several may not have it yet.
const absentAfter = 3

// missing treats a resource that is not served as empty, after enough answers, and
// reports whether it did.
func (r *Reflector) missing(err error) bool {
	r.absent++
	synced := r.status.get().Synced
	switch {
	case r.emptied:
		return true
	case synced && r.absent < absentAfter:
		return false
	}
	r.empty(err)
	return true
}

// empty empties the store, as the resource is not served.
func (r *Reflector) empty(err error) {
	r.version, r.consistent, r.suspect, r.incomplete, r.emptied = Version{}, false, false, 0, true
	r.journal.begin()
	stored := r.collection.Store(r.part, List{}, Version{})
	r.confirmed()
	r.part.lose()
	r.part.answer(r.collection, nil, false)
	r.status.update(func(s *Status) {
		s.sync(r.ranAt)
		s.Version, s.Listed = Version{}, 0
	})
	r.journal.empty()
	stored.Deliver()
	r.collection.log.line("not served, and counts as empty until it is", "source", r.source.String(), "error", err)
}
