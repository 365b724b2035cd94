package machine

// What happened.
type What uint8

const (
	// Began: the run begins, or begins again. Facts: Held, Filled, Streamable.
	Began What = iota
	// Restored: the store was filled from disk, before the run begins.
	Restored
	// Succeeded: the reflector takes over from another. Facts: Certain, Covered, Suspicious.
	Succeeded
	// Proved: the server was asked for objects that the disk has. Facts: Proof, or Failure;
	// Reached, Unchanged.
	Proved
	// Prepared: a list is about to be read. Facts: Demanded, Held.
	Prepared
	// Listed: a list was read to its end. Facts: Version, Gaps, Unsure, Doubtful.
	Listed
	// Stored: it is in the store. Facts: Changed.
	Stored
	// Looked: a watch may be opened. Facts: Due, Quiet, QuietLong, Demanded, ProbeOld,
	// Comparable.
	Looked
	// Answered: the server was asked for its version. Facts: Version.
	Answered
	// Opened: the server accepted a watch.
	Opened
	// Received: a watch brought something new, or a version.
	Received
	// CaughtUp: a watch may have confirmed what the disk had. Facts: Reached, Unchanged.
	CaughtUp
	// Waited: a wait is over. Facts: Demanded by whoever needs more of each object: Failure
	// is Renewal.
	Waited
	// Searched: the server was asked whether the resource has gone. Facts: Kept.
	Searched
	// Cleared: the store was emptied.
	Cleared
	// Broke: what the phase did has failed or ended. Facts: Failure and those of Ending.
	Broke
)

// Failure is how something failed or ended.
type Failure uint8

const (
	None         Failure = iota
	Stop                 // the run is to end
	Renewal              // somebody needs more of each object
	Question             // somebody waits for a version that does not come
	Demand               // somebody demands a list
	Ended                // the server ended the watch without an error
	Expired              // 410: the version is forgotten
	Ahead                // the server has not reached the version
	Older                // a bookmark was older than what is held
	Gapped               // a list is due, as the last one had gaps
	Disordered           // a list is due, as events were out of order
	Unreached            // a list is due, as the watch has not confirmed the store
	OutOfOrder           // an event may be new or repeated
	Stalled              // nothing came for too long
	TimedOut             // a request took too long
	Unauthorized         // 401
	Forbidden            // 403
	NoResource           // 404
	Unsupported          // 405, 501
	Unreachable          // nothing listens there
	TLS                  // the certificate cannot be trusted
	Throttled            // 429
	Garbled              // not the protocol
	Cut                  // the connection broke
	ServerError          // any other status
	Unknown
)

// Order says how a version compares with the one that is held.
type Order uint8

const (
	Later Order = iota // or they cannot be compared
	Same
	Earlier
)

// Proof is what the objects on disk have shown about the server.
type Proof uint8

const (
	NoProof      Proof = iota
	SameHistory        // one is as it was
	NothingToAsk       // there is no object that could prove anything
	Strange            // none is as it was
	Otherwise          // one looks otherwise in the same state
	Diverged           // one is in a state that the history does not lead to
)

// Ending has the facts about the end of a watch.
type Ending struct {
	// Productive: it brought something, or lasted long enough to be resumed at once.
	Productive bool
	// Early: it ended before its time.
	Early bool
	// Taken: the server had accepted it.
	Taken bool
	// Lasted: long enough for the failures before it not to count.
	Lasted bool
	// Said: the server gave the error, not the way to it.
	Said bool
	// BriefLongAgo: the last brief watch has nothing to do with this one.
	BriefLongAgo bool
	// Calm: no event was out of order for long.
	Calm bool
	// Wanted: a version is still waited for.
	Wanted bool
}

// Happened is what happened, and the facts that are known with it. Facts that What does
// not name are zero.
type Happened struct {
	What    What
	Failure Failure
	Ending  Ending

	// Held: there is a version that a list or a watch gave, or the disk. Filled: the store
	// has reached one.
	Held, Filled bool
	// Streamable: the server is not known to leave initial events without an end.
	Streamable bool

	// Certain: the store of the reflector before was what the server had. Covered: that one
	// selected all that is selected now. Suspicious: its last watch broke.
	Certain, Covered, Suspicious bool

	Proof Proof
	// Reached: the store has what the server had when it was asked. Unchanged: an object is
	// still as on disk, though the server has it otherwise.
	Reached, Unchanged bool

	// Demanded: somebody demands a list.
	Demanded bool
	// Version is how the answer's version compares with the one that is held.
	Version Order
	// Gaps: the list has objects that cannot be read. Unsure: what is stored may be newer
	// than the list only in its versions. Doubtful: the list shows what an event was.
	Gaps, Unsure, Doubtful bool
	// Changed: the list changed the store.
	Changed bool

	// Due is why a list is due now; None: none is.
	Due Failure
	// Quiet: the state was not confirmed for as long as a poll's interval. QuietLong: nor
	// for as long as MuteWatches may be silent.
	Quiet, QuietLong bool
	// ProbeOld: the last probe is too old to trust. Comparable: versions are numbers of a
	// server.
	ProbeOld, Comparable bool

	// Kept: it is not proved that the resource has gone.
	Kept bool
}
