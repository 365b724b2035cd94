package engine

import "errors"

// Cause is why a reflector lists.
type Cause string

// The causes.
const (
	// First: nothing was listed yet.
	First Cause = "first"
	// Forgotten: the server does not have the version any more that the watch, or a page of
	// the list, was to go on from (410).
	Forgotten Cause = "expired"
	// Incomparable: the list before was older than what the store has, or could not be
	// asked for by its version.
	Incomparable Cause = "older-list"
	// WentBack: the server's version is lower than the one that the store has.
	WentBack Cause = "history-went-back"
	// Disorder: the watch sent states out of order.
	Disorder Cause = "out-of-order"
	// Incomplete: the list before had objects that could not be read.
	Incomplete Cause = "incomplete"
	// Silence: watches have brought nothing for long.
	Silence Cause = "silence"
	// Polled: the resource cannot be watched.
	Polled Cause = "polling"
	// Failed: the list before has failed, or watches fail in a way that a list may get past.
	Failed Cause = "failure"
	// Renewed: a reader has joined who needs more of each object.
	Renewed Cause = "renewed"
	// Awaited: somebody waits for a version that does not come.
	Awaited Cause = "awaited"
	// Unconfirmed: the server did not confirm what a snapshot on disk had.
	Unconfirmed Cause = "unconfirmed"
	// Verified: Verify has found that the store differs from the server.
	Verified Cause = "verify"
)

// Causes are all there are.
var Causes = []Cause{
	First, Forgotten, Incomparable, WentBack, Disorder, Incomplete,
	Silence, Polled, Failed, Renewed, Awaited, Unconfirmed, Verified,
}

// listFor returns the state that lists, for a cause.
func (r *Reflector) listFor(c Cause) state {
	r.cause = c
	return r.list
}

// causeOf returns the cause of a list that relistIn, or the end of a watch, has led to,
// or that is to prove the state.
func causeOf(err error, proving bool) Cause {
	switch {
	case proving:
		return Silence
	case errors.Is(err, errIncomplete):
		return Incomplete
	case errors.Is(err, errUnconfirmed):
		return Unconfirmed
	}
	return Disorder
}
