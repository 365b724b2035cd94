package engine

import (
	"errors"
	"fmt"
	"time"
)

// Policy says what a reflector makes of a refusal: an answer that more tries will
// hardly change.
type Policy uint8

const (
	// KeepTrying takes every failure for one that passes.
	KeepTrying Policy = iota
	// FailFast ends Run when who asks is not known (401), may not (403), or asks
	// for what is not served (404), be it to list or to watch.
	FailFast
	// Optional takes a resource that cannot be listed, as it is not served (404), for
	// an empty one, until it is served.
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

// absentAfter is how many answers in a row it takes to believe that a resource
// that was served is no more. One server of several may not know of it yet.
const absentAfter = 3

// missing takes a resource that is not served for an empty one, if it is time to
// believe that, and tells whether it did.
func (r *Reflector) missing(err error) bool {
	r.absent++
	synced := r.status.get().Synced
	switch {
	case synced && r.version.IsZero():
		return true // it is empty already
	case synced && r.absent < absentAfter:
		return false
	}
	r.version, r.consistent, r.suspect, r.incomplete = Version{}, false, false, 0
	stored := r.collection.Store(r.part, List{}, Version{})
	r.status.update(func(s *Status) { s.Synced, s.Version, s.Listed = true, Version{}, 0 })
	stored.Tell()
	r.collection.log.line("not served, and counts as empty until it is", "source", r.source.String(), "error", err)
	return true
}
