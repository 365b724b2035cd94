package faultproxy

// Kind is a kind of fault.
type Kind string

// Faults of any request.
const (
	// Delayed: the request waits for a while before it is passed on.
	Delayed Kind = "delayed"
	// Unanswered: the request is taken, and nothing ever comes back.
	Unanswered Kind = "half-open, no answer"
	// Hangup: the connection is closed instead of an answer.
	Hangup Kind = "connection closed, no answer"
	// Throttled: 429, with Retry-After or without.
	Throttled Kind = "429"
	// ServerError, BadGateway and GatewayTimeout are what servers and load balancers
	// say.
	ServerError    Kind = "500"
	BadGateway     Kind = "502"
	GatewayTimeout Kind = "504"
	// Page: 200, and a page of HTML, as proxies send it that want a login.
	Page Kind = "200 with HTML"
	// Unauthorized, Forbidden and NotFound, once; good again after.
	Unauthorized Kind = "401"
	Forbidden    Kind = "403"
	NotFound     Kind = "404"
	// Dropped: the TCP connection breaks after some more bytes, wherever that is: in a
	// TLS record, in an HTTP/2 frame, with all streams that it carries.
	Dropped Kind = "connection cut at a byte"
)

// Faults of lists.
const (
	// GoneList: 410 for a list; ExpiredContinue: 410 for a further page of one.
	GoneList        Kind = "410 for a list"
	ExpiredContinue Kind = "410 for a page"
	// CutList: the answer breaks after some bytes. EndedList: it ends as if it were
	// whole. StuckList: it stops, the connection stays open.
	CutList   Kind = "list cut"
	EndedList Kind = "list ended early"
	StuckList Kind = "half-open list"
	// GarbledList: from some byte on it is noise.
	GarbledList Kind = "list garbled"
)

// Faults of watches.
const (
	// GoneWatch: 410 as the answer to a watch.
	GoneWatch Kind = "410 for a watch"
	// CutWatch: the answer breaks between or inside events. EndedWatch: it ends in
	// peace, long before its time. StuckWatch: nothing more comes, the connection
	// stays open.
	CutWatch   Kind = "watch cut"
	EndedWatch Kind = "watch ended early"
	StuckWatch Kind = "half-open watch"
	// Pause: events come late.
	Pause Kind = "events late"
	// Dribble: an event comes in tiny pieces.
	Dribble Kind = "event in pieces"
	// GoneEvent and ErrorEvent: an event of type ERROR, with code 410 or another.
	GoneEvent  Kind = "410 inside a watch"
	ErrorEvent Kind = "error event"
	// Truncated: a frame ends in its middle. Oversized: one that does not end.
	// Garbled: one of noise.
	Truncated Kind = "frame truncated"
	Oversized Kind = "frame oversized"
	Garbled   Kind = "frame garbled"
	// Duplicated: an event comes twice. Stale: an older one comes again. Reordered:
	// two events of different objects change places.
	Duplicated Kind = "event twice"
	Stale      Kind = "older event again"
	Reordered  Kind = "events reordered"
	// NoBookmark: one is left out. BackBookmark: one with a lower version than was
	// already reached.
	NoBookmark   Kind = "bookmark dropped"
	BackBookmark Kind = "bookmark going back"
	// NoInitialEnd: the bookmark that ends the initial events never comes.
	NoInitialEnd Kind = "no closing bookmark"
)

// weighted is a fault and how often it is chosen, relative to the others of its
// place.
type weighted struct {
	kind   Kind
	weight int
}

// Where faults happen.
var (
	// anyRequest is what any request may meet instead of an answer.
	anyRequest = []weighted{
		{Delayed, 6}, {Unanswered, 1}, {Hangup, 4}, {Throttled, 3}, {ServerError, 3}, {BadGateway, 3},
		{GatewayTimeout, 3}, {Page, 3}, {Unauthorized, 3}, {Forbidden, 3}, {NotFound, 3}, {Dropped, 4},
	}
	listRequest  = append([]weighted{{GoneList, 4}}, anyRequest...)
	pageRequest  = append([]weighted{{ExpiredContinue, 20}}, anyRequest...)
	watchRequest = append([]weighted{{GoneWatch, 5}}, anyRequest...)
	// listBody is what may happen to the answer.
	listBody = []weighted{{CutList, 4}, {EndedList, 4}, {StuckList, 1}, {GarbledList, 4}}
	// watchEnd is what a watch may end with.
	watchEnd = []weighted{
		{CutWatch, 6}, {EndedWatch, 3}, {StuckWatch, 1}, {GoneEvent, 3}, {ErrorEvent, 3}, {Truncated, 3},
		{Oversized, 2}, {Garbled, 3}, {Dropped, 4}, {BackBookmark, 2},
	}
	// watchEvent is what may happen to an event of a watch that goes on.
	watchEvent = []weighted{{Pause, 2}, {Dribble, 2}, {Duplicated, 4}, {Stale, 4}, {Reordered, 4}}
)

// Kinds returns every kind of fault that a proxy injects.
func Kinds() []Kind {
	all := []Kind{NoBookmark, NoInitialEnd, GoneWatch, GoneList, ExpiredContinue}
	for _, place := range [][]weighted{anyRequest, listBody, watchEnd, watchEvent} {
		for _, w := range place {
			all = append(all, w.kind)
		}
	}
	return all
}
