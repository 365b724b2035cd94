package engine

import "github.com/kinform/kinform/internal/engine/machine"

// Cause is why a reflector lists.
type Cause = machine.Cause

// The causes.
const (
	// First: nothing was listed yet.
	First = machine.First
	// Forgotten: the server does not have the version any more that the watch, or a page of
	// the list, was to go on from (410).
	Forgotten = machine.Forgotten
	// Incomparable: the list before was older than what the store has, or could not be
	// asked for by its version.
	Incomparable = machine.Incomparable
	// WentBack: the server's version is lower than the one that the store has.
	WentBack = machine.WentBack
	// Disorder: the watch sent states out of order.
	Disorder = machine.Disorder
	// Incomplete: the list before had objects that could not be read.
	Incomplete = machine.Incomplete
	// Silence: watches have brought nothing for long.
	Silence = machine.Silence
	// Polled: the resource cannot be watched.
	Polled = machine.Polled
	// Failed: the list before has failed, or watches fail in a way that a list may get past.
	Failed = machine.Failed
	// Renewed: a reader has joined who needs more of each object.
	Renewed = machine.Renewed
	// Awaited: somebody waits for a version that does not come.
	Awaited = machine.Awaited
	// Unconfirmed: the server did not confirm what a snapshot on disk had.
	Unconfirmed = machine.Unconfirmed
	// Verified: Verify has found that the store differs from the server.
	Verified = machine.Verified
)

// Causes are all there are.
var Causes = []Cause{
	First, Forgotten, Incomparable, WentBack, Disorder, Incomplete,
	Silence, Polled, Failed, Renewed, Awaited, Unconfirmed, Verified,
}
