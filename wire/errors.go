package wire

import "fmt"

// SyntaxError says that the bytes are not what they should be.
type SyntaxError struct {
	Format Format
	Offset int64  // of the offending byte: in the object, or in the stream for readers
	Msg    string // what is wrong
}

func (e *SyntaxError) Error() string {
	if e.Format == 0 {
		return fmt.Sprintf("bad data at byte %d: %s", e.Offset, e.Msg)
	}
	return fmt.Sprintf("bad %s at byte %d: %s", e.Format, e.Offset, e.Msg)
}

// LimitError says that something is larger than [Limits] allow.
type LimitError struct {
	What   string // "watch event", "list item", …
	Offset int64  // where it starts in the stream
	Size   int64  // its size if the sender gave one, otherwise what has been read of it
	Limit  int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s at byte %d has %d bytes or more, the limit is %d: raise Options.MaxObjectSize (package wire: Limits.Frame) if it is meant to be that large",
		e.What, e.Offset, e.Size, e.Limit)
}

// ReadError says that the source failed or ended inside something. Err is
// [io.ErrUnexpectedEOF] where it ended, otherwise the source's own error.
type ReadError struct {
	What   string // what was being read
	Offset int64  // bytes of the stream that had arrived
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("reading %s: stream broke at byte %d: %v", e.What, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// EventError says that one watch event is bad in itself while its end was found:
// the reader has skipped it and can continue with the next.
type EventError struct {
	Offset int64 // where the event starts in the stream
	Err    error
}

func (e *EventError) Error() string {
	return fmt.Sprintf("watch event at byte %d: %v", e.Offset, e.Err)
}

func (e *EventError) Unwrap() error { return e.Err }

// KindError says that the body of a list request holds something else: a Status,
// a Table, a single object.
type KindError struct {
	APIVersion, Kind string
	Message          string // a Status's message
}

func (e *KindError) Error() string {
	switch {
	case e.Kind == "" && e.APIVersion == "":
		return "body is not a Kubernetes list: it has neither a kind nor items"
	case e.Message != "":
		return fmt.Sprintf("body is not a list but a %s: %s", e.Kind, e.Message)
	default:
		return fmt.Sprintf("body is not a list but a %s (%s)", e.Kind, e.APIVersion)
	}
}
