package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// EventType is the type of a watch event.
type EventType uint8

// The types of events. Zero is none of them.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Bookmark
	Error
)

// String returns the type as the server writes it: "ADDED", "MODIFIED", …
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	case Error:
		return "ERROR"
	default:
		return "UNKNOWN"
	}
}

func parseEventType(name []byte) EventType {
	switch string(name) {
	case "ADDED":
		return Added
	case "MODIFIED":
		return Modified
	case "DELETED":
		return Deleted
	case "BOOKMARK":
		return Bookmark
	case "ERROR":
		return Error
	default:
		return 0
	}
}

// Event is one event of a watch. Its slices are valid until the next call of Next.
type Event struct {
	Type   EventType
	Format Format
	// APIVersion and Kind are those of the object: from the protobuf envelope, or
	// the first of each in the JSON object.
	APIVersion, Kind []byte
	// Object is the JSON object, or the bare protobuf message without its
	// envelope. For Error it is a metav1.Status.
	Object []byte
}

// WatchReader splits the body of a watch into events.
type WatchReader struct {
	src    source
	limits Limits
	format Format
	frame  framer // of the JSON event at the start of the window
	err    error  // final
}

// NewWatchReader returns a reader of the watch body r. It finds out the format
// from the first byte: JSON starts with '{' or white space, a protobuf frame with
// the high byte of its length, which up to 144 MiB is none of these. It is not safe
// for concurrent use.
func NewWatchReader(r io.Reader, l Limits) *WatchReader {
	l = l.withDefaults()
	return &WatchReader{src: newSource(r, l.Buffer), limits: l}
}

// Next returns the next event. It blocks only when no whole event is in memory.
//
// Possible errors: [io.EOF] at a clean end between events; [EventError] for a bad
// event that was skipped, after which Next may be called again. All others are
// final: [ReadError] when the source failed or ended inside an event,
// [SyntaxError] when the end of an event cannot be found, [LimitError].
func (w *WatchReader) Next() (Event, error) {
	if w.err != nil {
		return Event{}, w.err
	}
	start, frame, err := w.nextFrame()
	if err != nil {
		w.err = err
		return Event{}, err
	}
	ev := Event{Format: w.format}
	if w.format == JSON {
		err = ev.openJSON(frame, &w.frame)
		w.frame = framer{}
	} else {
		err = ev.openProto(frame)
	}
	if err != nil {
		return Event{}, &EventError{Offset: start, Err: err}
	}
	return ev, nil
}

// Buffered reports whether the next whole event is already in memory, so that
// Next will not read.
func (w *WatchReader) Buffered() bool {
	switch {
	case w.err != nil:
		return false
	case w.format == Protobuf:
		window := w.src.window()
		return len(window) >= frameHeader &&
			int64(len(window)-frameHeader) >= int64(binary.BigEndian.Uint32(window))
	case w.format == JSON:
		return w.src.skipBuffered() == '{' && w.frame.scan(w.src.window())
	default:
		return false
	}
}

// Format returns the format of the stream, zero before the first byte was read.
func (w *WatchReader) Format() Format { return w.format }

// Offset returns how many bytes of the stream Next has consumed.
func (w *WatchReader) Offset() int64 { return w.src.offset }

// frameHeader is the size of the length before a protobuf event.
const frameHeader = 4

// nextFrame consumes the next event and returns it with its offset.
func (w *WatchReader) nextFrame() (start int64, frame []byte, err error) {
	if w.format == 0 {
		if err := w.sniff(); err != nil {
			return 0, nil, err
		}
	}
	if w.format == JSON {
		return w.nextJSON()
	}
	return w.nextProto()
}

func (w *WatchReader) sniff() error {
	first, err := w.src.need(1)
	if err != nil {
		return w.between(err)
	}
	switch c := first[0]; {
	case c == '{' || isSpace(c):
		w.format = JSON
	case c < '\t':
		w.format = Protobuf
	default:
		return &SyntaxError{Msg: "not a watch stream, it starts with " + excerpt(w.src.window())}
	}
	return nil
}

// excerpt describes how an unreadable body starts. It quotes a page of HTML,
// which is what proxies send, and nothing else: it may be a piece of a Secret.
func excerpt(body []byte) string {
	switch start := bytes.TrimLeft(body, " \t\r\n"); {
	case len(start) == 0:
		return "nothing but white space"
	case start[0] == '<':
		return fmt.Sprintf("%q", body[:min(len(body), 60)])
	default:
		return fmt.Sprintf("the byte 0x%02x", start[0])
	}
}

// between returns the error for a source that failed between two events.
func (w *WatchReader) between(err error) error {
	if err == io.EOF {
		return err
	}
	return w.src.broken("a watch, between two events", err)
}

func (w *WatchReader) nextProto() (start int64, frame []byte, err error) {
	start = w.src.offset
	header, err := w.src.need(frameHeader)
	if err != nil {
		if w.src.size() == 0 {
			return 0, nil, w.between(err)
		}
		return 0, nil, w.src.broken("the length of a watch event", err)
	}
	size := int64(binary.BigEndian.Uint32(header))
	if size > w.limits.Frame {
		return 0, nil, &LimitError{What: "watch event", Offset: start, Size: size, Limit: w.limits.Frame}
	}
	whole, err := w.src.need(frameHeader + int(size))
	if err != nil {
		return 0, nil, w.src.broken("a watch event", err)
	}
	w.src.consume(len(whole))
	return start, whole[frameHeader:], nil
}

func (w *WatchReader) nextJSON() (start int64, frame []byte, err error) {
	if w.frame.kind == frameNew {
		c, err := w.src.skipSpace()
		if err != nil {
			return 0, nil, w.between(err)
		}
		if c != '{' {
			return 0, nil, &SyntaxError{Format: JSON, Offset: w.src.offset, Msg: "a watch event must be an object"}
		}
	}
	frame, err = w.src.frame(&w.frame, w.limits.Frame, "watch event")
	if err != nil {
		return 0, nil, err
	}
	return w.src.offset - int64(len(frame)), frame, nil
}

var (
	errNoType   = errors.New("the event has no type")
	errNoObject = errors.New("the event has no object")
)

// openProto reads a metav1.WatchEvent, whose object is in an envelope.
func (ev *Event) openProto(frame []byte) error {
	const eventType, eventObject, extensionRaw = 1, 2, 1
	var name, object []byte
	for i := 0; i < len(frame); {
		f, next := readField(frame, i)
		if next < 0 {
			return badField(i, "the event")
		}
		var err error
		switch f.num {
		case eventType:
			err = f.text(&name, frame, i, next, 0)
		case eventObject:
			if err = f.want(wireBytes, i); err == nil {
				err = lastBytes(&object, f.bytes(frame, next), extensionRaw, f.value)
			}
		}
		if err != nil {
			return err
		}
		i = next
	}
	if err := ev.setType(name); err != nil {
		return err
	}
	if object == nil {
		return errNoObject
	}
	envelope, err := OpenEnvelope(object)
	if err != nil {
		return err
	}
	ev.APIVersion, ev.Kind, ev.Object = envelope.APIVersion, envelope.Kind, envelope.Raw
	return nil
}

// lastBytes sets dst to the last field num of the message data, if it has any.
func lastBytes(dst *[]byte, data []byte, num int32, base int) error {
	for i := 0; i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return badField(base+i, "the event's object")
		}
		if f.num == num {
			if err := f.text(dst, data, i, next, base); err != nil {
				return err
			}
		}
		i = next
	}
	return nil
}

func (ev *Event) setType(name []byte) error {
	if len(name) == 0 {
		return errNoType
	}
	if ev.Type = parseEventType(name); ev.Type == 0 {
		return fmt.Errorf("the event has the unknown type %.40q", name)
	}
	return nil
}

// openJSON reads {"type": …, "object": …}. The framer has seen where the object ends.
func (ev *Event) openJSON(frame []byte, f *framer) error {
	var name []byte
	s := scanner{data: frame}
	s.open('{')
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		switch string(key) {
		case "type":
			s.str(&name, "the event's type")
		case "object":
			start := s.i
			if !s.jump(f) {
				s.pass()
			}
			if value := frame[start:s.i:s.i]; s.msg == "" && string(value) != "null" {
				ev.Object = value
			}
		default:
			s.skip(1)
		}
	}
	s.end()
	if err := s.err(0); err != nil {
		return err
	}
	if err := ev.setType(name); err != nil {
		return err
	}
	if len(ev.Object) == 0 || ev.Object[0] != '{' {
		return errNoObject
	}
	ev.APIVersion, ev.Kind = firstType(ev.Object)
	return nil
}

// jump passes the value at i if it is the child that f has framed.
func (s *scanner) jump(f *framer) bool {
	if s.i != f.childStart || f.childEnd <= s.i || s.data[f.childEnd-1] != s.data[s.i]+2 {
		return false
	}
	s.i = f.childEnd
	return true
}

// firstType returns the first apiVersion and kind of a JSON object; servers write
// them before everything else.
func firstType(object []byte) (apiVersion, kind []byte) {
	s := scanner{data: object}
	s.open('{')
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		switch {
		case apiVersion == nil && string(key) == "apiVersion":
			s.str(&apiVersion, "apiVersion")
		case kind == nil && string(key) == "kind":
			s.str(&kind, "kind")
		default:
			s.pass()
		}
		if apiVersion != nil && kind != nil {
			break
		}
	}
	return apiVersion, kind
}
