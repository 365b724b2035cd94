package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
)

// Policy says how a reflector treats a refusal: an answer that retrying is unlikely to
// change.
type Policy uint8

const (
	// KeepTrying treats every failure as temporary.
	KeepTrying Policy = iota
	// FailFast ends Run when the client is not authenticated (401) or not allowed
	// (403), or the resource is not served (404), for a list or a watch.
	FailFast
	// Optional treats a resource whose first list is answered with 404 as empty, until it
	// is served.
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

// giveUp notes what ends Run.
func (r *Reflector) giveUp() {
	r.status.update(func(s *Status) { s.NextTry = time.Time{} })
	r.refused = &RefusedError{Source: r.source.String(), Reason: r.reason, Err: r.err}
	r.collection.log.line("refused, and ends: the policy is to fail fast", "source", r.source.String(),
		"reason", string(r.reason), "error", r.err)
}

// search asks whether a resource that was in the store and is not found has gone for good.
// Until that is proved, what was read is kept: proxies answer with 404, servers that have
// just started do, and a definition may no longer be served in one version while its objects
// live on in another.
func (r *Reflector) search(ctx context.Context) machine.Do {
	ask, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	why := r.source.(Discovering).Gone(ask)
	if why != nil {
		if r.news(notGone) {
			r.collection.log.line("not found, and what was read is kept", "source", r.source.String(), "error", r.err, "because", why)
		}
		r.err = fmt.Errorf("%w; what was read is kept: %w", r.err, why)
		r.status.update(func(s *Status) { s.Cause = r.err })
	}
	return r.tell(machine.Happened{What: machine.Searched, Kept: why != nil})
}

// notGone is what is logged once of a resource that is not found and not known to be gone.
const notGone Reason = "not-gone"

// empty empties the store, as the resource is not served.
func (r *Reflector) empty(do machine.Do) machine.Do {
	r.version = Version{}
	r.journal.begin()
	stored := r.collection.Store(r.part, List{}, Version{})
	r.confirmed(do)
	r.part.lose()
	r.part.answer(r.collection, nil, false)
	r.status.update(func(s *Status) {
		s.sync(r.ranAt)
		s.Version, s.Listed = Version{}, 0
	})
	r.journal.empty()
	stored.Deliver()
	r.collection.log.line("not served, and counts as empty until it is", "source", r.source.String(), "error", r.err)
	return r.tell(machine.Happened{What: machine.Cleared})
}
