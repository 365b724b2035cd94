package engine

import (
	"context"
	"errors"
	"time"

	"github.com/kinform/kinform/wire"
)

// Source lists and watches one resource, narrowed or not. Streams are pulled,
// by one goroutine.
type Source interface {
	// List starts a list. Errors are apimachinery's status errors where the
	// server gave one.
	List(ctx context.Context, o ListOptions) (ListStream, error)
	// Watch starts a watch. Cancelling ctx ends the stream.
	Watch(ctx context.Context, o WatchOptions) (WatchStream, error)
	// String names what is listed, for messages: "pods in namespace default".
	String() string
}

// ListOptions are the parameters of one LIST request.
type ListOptions struct {
	// ResourceVersion: "" asks for a consistent read, "0" for whatever the server has
	// cached, anything else for a state not older than that.
	ResourceVersion string
	// Limit is the size of a page, 0 for no pages. Following the pages is the
	// stream's job.
	Limit int64
	// Probe asks for the version alone; what objects come with it does not matter.
	// With a ResourceVersion it is for the server's cache to answer.
	Probe bool
	// Object is the key of the one object that is to come with a probe, if there is one;
	// others may come, too.
	Object string
	// Metadata asks for no more of each object than its metadata, where the server can
	// cut that out.
	Metadata bool
	// Alive, if set, is called whenever something of the answer has come, be it part
	// of an object. A list of large objects over a slow line is alive.
	Alive func()
}

// Whole is a Source whose List returns only when everything has come, as a program's
// own list function does. Nothing arrives before that, so no silence ends it.
type Whole interface {
	Source
	ListsWhole()
}

// Renewing is a Source that may come to have more of each object than it had. All of
// them are to be listed again then, and compared byte by byte with what is stored.
type Renewing interface {
	Source
	// Renewed is closed while there is more than what the last list asked for.
	Renewed() <-chan struct{}
}

// Formed is a Source of which it depends on those who read what it sends of each object.
type Formed interface {
	Source
	// Form says what the last list asked for.
	Form() string
	// Resume has objects of a form be in the store, in place of a first list, and reports
	// whether they have what is needed.
	Resume(form string) bool
}

// Discovering is a Source that can find out whether a resource has gone for good, apart
// from listing it.
type Discovering interface {
	Source
	// Gone returns nil if the server has proved that the resource is defined nowhere any
	// more, in no version. The error says what it is instead, or why it is not known.
	Gone(context.Context) error
}

// ErrRenewed ends the watches of a Renewing source, and refuses its lists but for
// consistent ones, while there is more than what was asked for. It is no failure.
var ErrRenewed = errors.New("there is more of each object than what was asked for")

// WatchOptions are the parameters of one WATCH request.
type WatchOptions struct {
	ResourceVersion string
	// Timeout asks the server to end the watch after that time.
	Timeout time.Duration
	// InitialEvents asks for the present state as events, closed by a bookmark.
	InitialEvents bool
}

// Item is an object as it came: as bytes, or from sources of objects as that.
type Item struct {
	Format wire.Format
	Bytes  []byte // valid until the next call of the stream's Next
	Object any
}

// ListStream is a list that is read as it arrives.
type ListStream interface {
	// Next returns io.EOF after the last object of a complete list.
	Next() (Item, error)
	// Meta is complete after io.EOF.
	Meta() wire.ListMeta
	// Received is the number of bytes read so far.
	Received() int64
	Close() error
}

// Event is one event of a watch. Error events never get here: Next returns
// them as errors.
type Event struct {
	Type wire.EventType
	Item
	// InitialEnd marks the bookmark that closes the initial events.
	InitialEnd bool
}

// WatchStream is a watch.
type WatchStream interface {
	// Next blocks for the next event. io.EOF: the server ended the watch.
	Next() (Event, error)
	// Buffered reports whether Next would return without waiting.
	Buffered() bool
	Close() error
}
