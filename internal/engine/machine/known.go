package machine

// Phase is what the reflector is doing: Happened reports how that went.
type Phase uint8

const (
	Idle         Phase = iota
	Beginning          // finding out what there is to begin with
	Proving            // asking the server for objects that the disk has
	Preparing          // collecting what a list has to satisfy
	Reading            // reading a list
	Streaming          // reading the initial state through a watch
	Storing            // putting a list into the store
	Looking            // finding out whether a watch may be opened
	Asking             // asking the server's cache for its version
	AskingNewest       // asking for the newest version
	Opening            // opening a watch
	Following          // applying what a watch sends
	Waiting            // waiting before the next request
	Searching          // asking whether the resource has gone
	Emptying           // removing everything from the store
	Over               // the run has ended
)

// Policy says how a refusal is treated.
type Policy uint8

const (
	KeepTrying Policy = iota
	FailFast
	Optional
)

// Options do not change during a run.
type Options struct {
	Policy Policy
	// FirstNewest: the first list is a consistent read, as it is by default.
	FirstNewest bool
	// Streams: the first list is asked for through a watch.
	Streams bool
	// Paged: lists are read in pages.
	Paged bool
	// Discovers: the server can be asked whether a resource has gone for good, and the
	// store is emptied then.
	Discovers bool
	// Objects: versions are made by a source of objects, and probes prove nothing.
	Objects bool
}

// At is how new a list has to be.
type At uint8

const (
	Any      At = iota // whatever the server has in its cache
	NotOlder           // not older than the version that is held
	Newest             // a consistent read
)

// Cause is why a list is read.
type Cause string

// The causes.
const (
	First        Cause = "first"
	Forgotten    Cause = "expired"
	Incomparable Cause = "older-list"
	WentBack     Cause = "history-went-back"
	Disorder     Cause = "out-of-order"
	Incomplete   Cause = "incomplete"
	Silence      Cause = "silence"
	Polled       Cause = "polling"
	Failed       Cause = "failure"
	Renewed      Cause = "renewed"
	Awaited      Cause = "awaited"
	Unconfirmed  Cause = "unconfirmed"
	Verified     Cause = "verify"
)

// Plan is what the next list has to be like.
type Plan struct {
	Cause Cause
	// Newest: it must be a consistent read, as the server could not serve the version that
	// is held, or somebody needs certainty.
	Newest bool
	// Replaces: what it has replaces what is stored, be that newer or the same.
	Replaces bool
	// Unpaged: it is read in one piece, as pages have expired.
	Unpaged bool
	// Hears: it is read because watches brought nothing, and shows whether they should have.
	Hears bool
}

// Known is all that is known. It is small and comparable.
type Known struct {
	Options Options
	Phase   Phase
	// Then is what a wait is followed by.
	Then Act
	Plan Plan
	// At is how new the list had to be that is being read.
	At At

	// About the store.

	// Synced: it was equal to the server once.
	Synced bool
	// Unconfirmed: it is what the disk had, and the server has not confirmed it.
	Unconfirmed bool
	// Emptied: it has nothing, as the server does not serve the resource.
	Emptied bool
	// Incomplete counts the lists in a row with objects that could not be read.
	Incomplete int

	// About the server.

	// Suspect: the last watch broke, so its history may have gone back.
	Suspect bool
	// Handed: the watch goes on where another reflector's has just ended.
	Handed bool
	// Polling: it refuses watches. Deaf: watches bring nothing, and a list has shown that
	// they should have.
	Polling, Deaf bool
	// Lagging: the next watch may bring bookmarks from before its start, as the server was
	// asked about them. Tolerant: the present one may.
	Lagging, Tolerant bool

	// How often in a row.

	// Failures of anything, until a list or a watch brings something.
	Failures int
	// Fruitless watches since one brought something, whatever lists did meanwhile.
	Fruitless int
	// Brief watches, which the server soon ended with an error.
	Brief int
	// Refusals of watches.
	Refusals int
	// Mute watches, which brought nothing, the present one included.
	Mute int
	// Absent answers: the resource is not served.
	Absent int
	// Disorders: events out of order without a calm between them.
	Disorders int
}

// Certain reports whether the store is what the server had at the version that it has
// reached, as far as the machine knows: a watch can go on from there.
func (k Known) Certain() bool {
	return !k.Unconfirmed && !k.Emptied && k.Incomplete == 0 &&
		!k.Plan.Newest && !k.Plan.Replaces && !k.Polling && !k.Deaf
}

// Thresholds, in times.
const (
	// MuteWatches may bring nothing before a list has to prove the state. One may have been
	// opened at a bad moment.
	MuteWatches = 2
	// AbsentAnswers have to come before the server is asked whether a resource has gone. One server
	// of several may not have it yet.
	AbsentAnswers = 3
)
