package snapshot

import "errors"

// What is wrong with a snapshot. Errors of Open and Load wrap one of these, or are those
// of the file system.
var (
	// ErrNone: there is no snapshot yet.
	ErrNone = errors.New("there is no snapshot")
	// ErrLocked: another process uses the snapshot, or another File of this one.
	ErrLocked = errors.New("another process or informer uses the snapshot")
	// ErrDamaged: the file is not as it was written, from before the end of the first
	// whole state.
	ErrDamaged = errors.New("the snapshot is damaged")
	// ErrFormat: the file was written by a version of kinform that writes another format.
	ErrFormat = errors.New("the snapshot is of another format")
	// ErrServer: the snapshot is of another server.
	ErrServer = errors.New("the snapshot is of another server")
	// ErrScope: the snapshot is of another resource, or of another part of it.
	ErrScope = errors.New("the snapshot is of another scope")
	// ErrKey: the snapshot is sealed and there is no key, or another one; or there is a
	// key and the snapshot is not sealed.
	ErrKey = errors.New("the snapshot cannot be opened with this key")
	// ErrTooLarge: a batch is too large for a snapshot.
	ErrTooLarge = errors.New("the batch is too large for a snapshot")
)
