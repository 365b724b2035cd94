package apisim

import (
	"net/http"
	"time"
)

// Fault is misbehaviour that the server shows to matching requests. Several
// effects in one fault are applied together: first Delay, then Hang, Reset or
// Status, then the ones that touch the answer.
type Fault struct {
	// Match selects requests. The zero value matches all.
	Match Match

	// After lets this many matching requests pass first.
	After int

	// Times ends the fault after it was applied so many times. Default 0:
	// until it is removed.
	Times int

	// Delay is a wait before the request is handled.
	Delay time.Duration

	// Hang never answers: the request ends when the client gives up, the
	// fault is removed or the server closes.
	Hang bool

	// Reset closes the connection without an answer.
	Reset bool

	// Status answers with this code instead of handling the request. The
	// body is a Status object unless Body is set.
	Status int

	// RetryAfter sets the Retry-After header of the answer, in whole
	// seconds. Only with Status.
	RetryAfter time.Duration

	// Body and ContentType replace the Status object, as a proxy's page of
	// HTML would. Only with Status.
	Body        string
	ContentType string

	// CutAfterBytes closes the connection after so many bytes of the body.
	CutAfterBytes int64

	// HangAfterBytes sends so many bytes of the body and then nothing more,
	// with the connection open.
	HangAfterBytes int64

	// TruncateFrame sends only half of the n-th frame of a watch, counted
	// from 1, and closes the connection.
	TruncateFrame int

	// GarbleFrame changes bytes inside the n-th frame of a watch, counted
	// from 1. The length prefix of a protobuf frame stays right.
	GarbleFrame int

	// DropBookmarks leaves out bookmarks, but not the one that ends the
	// initial events.
	DropBookmarks bool

	// DropInitialEventsEndBookmark leaves out the bookmark that ends the
	// initial events of a watch with sendInitialEvents.
	DropInitialEventsEndBookmark bool

	// DuplicateEvents sends every watch event twice, bookmarks excepted.
	DuplicateEvents bool
}

// Match selects requests. Empty fields match everything.
type Match struct {
	// Verb is get, list, watch, create, update, patch, delete or
	// deletecollection, as the server's authorizer names them; empty also
	// matches discovery.
	Verb string

	// Group is the API group ("apps"; "core" for the group without a name).
	Group string

	// Resource is the plural name, with the subresource after a slash if
	// only that one is meant ("pods", "deployments/scale").
	Resource string

	// Namespace is the namespace in the path.
	Namespace string

	// Path is a prefix of the URL path.
	Path string

	// Func is asked last, if it is set.
	Func func(*http.Request) bool
}
