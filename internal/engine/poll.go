package engine

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A store that gets no changes must not look current. There are two causes: the server
// refuses watches, or a proxy buffers them. In both cases the resource is listed at an
// interval, the state says so, and watches are still tried.

// errDeaf: watches bring nothing, but a list found changes.
var errDeaf = errors.New("watches bring nothing although the server changes: something between may buffer them")

// hearing is what a reflector knows of watches that bring nothing.
type hearing struct {
	// polling: watches are refused, so that lists take their place.
	polling bool
	// refusals counts the watches in a row that were refused.
	refusals int
	// mute counts the watches in a row that brought nothing, the present one
	// included; deaf: a list has shown that they should have.
	mute int
	deaf bool
	// brought: the watch brought something that the store did not have, or a version that
	// it has reached. What comes again proves nothing.
	brought bool
	// proving: the next list is read because watches brought nothing.
	proving bool
	// provenAt is when the server last confirmed the state: by a list, an event or a
	// bookmark. That a watch was opened proves nothing.
	provenAt time.Time
}

// muteWatches is how many watches in a row may bring nothing before a list has to
// prove the state. One may have been opened at a bad moment.
const muteWatches = 2

// isUnwatchable reports whether a server refuses watches of a resource: not allowed
// (403), not served (404), or not supported (405, 501). Lists may still be allowed.
func isUnwatchable(err error) bool {
	switch reasonOf(err) {
	case Forbidden, NoResource, Unsupported:
		return true
	}
	return false
}

// isUnsupported: the server cannot do what was asked of it.
func isUnsupported(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsMethodNotSupported(err) || errors.As(err, &status) && status.Status().Code == http.StatusNotImplemented
}

// poll waits for the next list after a watch was refused; the list is followed by
// another attempt to watch. The first come sooner, as a permission may just be being
// granted. Whether the resource is served at all is decided by the list, so that a
// policy for what is not served looks at lists only. With FailFast a watch that is not
// allowed or not served ends Run; one that the server does not support does not, as
// that does not depend on the client.
func (r *Reflector) poll(err error) state {
	r.refusals++
	b := r.options.Backoff.WithDefaults()
	b.Most = r.options.Poll
	b.First = min(b.First, b.Most)
	delay := b.delay(max(r.refusals, r.brief), err)
	err, reason := r.noteFailure(err, r.refusals, delay)
	if r.options.Policy == FailFast && reason.Refusal() {
		return r.giveUp(reason, err)
	}
	r.polling = true
	if r.news(reason) {
		r.collection.log.line("cannot be watched, and is listed at intervals instead", "source", r.source.String(),
			"reason", string(reason), "error", err, "interval", r.options.Poll)
	}
	return r.wait(Polling, delay, r.listFor(Polled))
}

// unproven reports whether watches have brought nothing for so long that a list has to
// prove the state. A resource that does not change, on a server without bookmarks, is
// rightly silent: there an occasional list is the price of certainty, unless a probe
// shows that the server's version is still the same.
func (r *Reflector) unproven() bool {
	since := time.Since(r.provenAt)
	if r.deaf {
		return since >= min(r.options.Silence, r.options.Poll)
	}
	return r.mute >= muteWatches && since/muteWatches >= r.options.Silence
}

// listened draws the conclusion from a list that made some changes: watches that
// brought nothing should have brought them.
func (r *Reflector) listened(changes int) {
	proving := r.proving
	r.mute, r.proving = 0, false
	if !proving || changes == 0 || r.deaf {
		return
	}
	r.deaf = true
	err, reason := r.noteFailure(fmt.Errorf("watch %s: %w", r.source, errDeaf), 1, r.options.Poll)
	if r.news(reason) {
		r.collection.log.line("watches bring nothing, and the resource is listed at intervals", "source", r.source.String(),
			"reason", string(reason), "error", err, "interval", r.options.Poll)
	}
	r.status.enter(Polling)
}

// received notes that a watch brought something.
func (r *Reflector) received() {
	r.mute, r.refusals = 0, 0
	if r.deaf {
		r.deaf = false
		r.failures = max(r.failures, 1) // which is overcome now
		r.status.enter(Watching)
	}
}
