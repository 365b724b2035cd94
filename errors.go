package kinform

import (
	"errors"

	"github.com/kinform/kinform/engine"
)

// ErrRunning says that the informer runs already.
var ErrRunning = engine.ErrRunning

// ErrNotFound says that the cache does not have an object.
var ErrNotFound = errors.New("not in the cache")

// ErrIndexExists says that an informer has an index of that name.
var ErrIndexExists = engine.ErrIndexExists

// SyncError says why an informer has not synced in time.
type SyncError = engine.SyncError

// DecodeError says that an object's bytes do not fit the informer's type.
type DecodeError = engine.DecodeError

// Reason is the kind of a failure, in SyncError and Status.
type Reason = engine.Reason

// The reasons for which a list or a watch fails.
const (
	Unauthorized = engine.Unauthorized
	Forbidden    = engine.Forbidden
	NoResource   = engine.NoResource
	Refused      = engine.Refused
	TLS          = engine.TLS
	Throttled    = engine.Throttled
	Expired      = engine.Expired
	Stalled      = engine.Stalled
	Garbled      = engine.Garbled
	Cut          = engine.Cut
	ServerError  = engine.ServerError
	Unsupported  = engine.Unsupported
)
