package machine

// Act is what to do next.
type Act uint8

const (
	Continue  Act = iota // go on with what is being done
	Begin                // report Began
	Prove                // ask for objects that the disk has; report Proved or Broke
	List                 // collect demands; report Prepared
	Read                 // read a list; report Listed or Broke
	Stream               // read the initial state through a watch; report Listed or Broke
	Store                // put the list into the store; report Stored
	Look                 // report Looked
	AskCache             // ask for a version no older than the held one; report Answered or Broke
	AskNewest            // ask for the newest version; report Answered or Broke
	Watch                // open a watch; report Opened or Broke
	Follow               // apply what it sends; report Received, CaughtUp, Broke
	Wait                 // wait; report Waited
	Search               // ask whether the resource has gone; report Searched
	Empty                // empty the store; report Cleared
	End                  // the run has ended
)

// Show is what the status shows.
type Show uint8

const (
	AsBefore Show = iota
	ShowListing
	ShowWatching
	ShowWaiting
	ShowPolling
	ShowAbsent
)

// Do is what to do, and how.
type Do struct {
	Act   Act
	Show  Show
	Cause Cause // of a List

	// Of a Read. Distrust: objects of the same version are compared by content.
	At       At
	Unpaged  bool
	Distrust bool
	// Of a Store. NewEpoch: the history went back. Overwrite: see Plan.Replaces. Settled:
	// the doubts about events are over. Met: what was demanded is done. Exact: the list was
	// a consistent read.
	NewEpoch, Overwrite, Settled, Met, Exact bool
	// Of a Watch. Short: it is to end soon. Reconnect: the one before had broken.
	Short, Reconnect bool

	// Times is how often it has failed: how long to wait. Attempts is what the status
	// shows. Both are set where a failure is to be noted.
	Times, Attempts int
	// Refused: the run ends for it.
	Refused bool
	// Polls: waits are no longer than the interval of polls.
	Polls bool
	// Doubt: the watch goes on without an event, until a list shows what it was.
	Doubt bool
	// Deafened: watches should have brought what the list did.
	Deafened bool

	// Confirm: the store is what the server has, and who waited for that is told.
	Confirm bool
	// Overcome: the failure that the status shows is over. Well: all is.
	Overcome, Well bool
	// Trusted: the server has just proved its history. Doubted: it has to do so again.
	// Current: nothing has happened since what the store has.
	Trusted, Doubted, Current bool
	// SetAside is why the disk is not used.
	SetAside Proof
	// ListOnly: the server does not close initial events.
	ListOnly bool
}
