package snapshot

import "errors"

// Errors of Open and Load wrap one of these, or are those of the file system.
var (
	// ErrNone: there is no snapshot yet.
	ErrNone = errors.New("there is no snapshot")
	// ErrLocked: another process, or another File of this process, uses the snapshot.
	ErrLocked = errors.New("another process or informer uses the snapshot")
	// ErrDamaged: the file is damaged before the end of its first complete state.
	ErrDamaged = errors.New("the snapshot is damaged")
	// ErrFormat: the file was written by a version of kinform that uses another format.
	ErrFormat = errors.New("the snapshot is of another format")
	// ErrServer: the snapshot was taken from another server.
	ErrServer = errors.New("the snapshot is of another server")
	// ErrScope: the snapshot has another resource, or another part of it.
	ErrScope = errors.New("the snapshot is of another scope")
	// ErrKey: the snapshot is sealed and no key or a wrong key was given; or a key was
	// given and the snapshot is not sealed.
	ErrKey = errors.New("the snapshot cannot be opened with this key")
	// ErrTooLarge: a batch is too large for a snapshot.
	ErrTooLarge = errors.New("the batch is too large for a snapshot")
)
