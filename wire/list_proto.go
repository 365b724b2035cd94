package wire

import (
	"io"
	"math"
	"strings"
)

// The list is a message in an envelope, and both are read field by field as they
// arrive: only metadata and single items are ever in memory whole.

const (
	listMetadata = 1
	listItems    = 2

	listMetaResourceVersion = 2
	listMetaContinue        = 3
	listMetaRemaining       = 4

	statusMessage = 3
)

// noEnd is the end of a message that ends with the body.
const noEnd = int64(math.MaxInt64)

// envelopeField reads one field of the runtime.Unknown around the list.
func (l *ListReader) envelopeField() error {
	if l.src.size() == 0 {
		if err := l.src.more(); err != nil {
			return l.bodyEnd(err)
		}
	}
	at := l.src.offset
	f, err := l.tag(noEnd, "the list's envelope")
	if err != nil {
		return err
	}
	switch f.num {
	case unknownTypeMeta:
		data, err := l.message(f, at, noEnd, l.envelopeLimit(), "list type")
		if err != nil {
			return err
		}
		return l.setType(data, at)
	case unknownRaw:
		if l.itemsSeen {
			return &SyntaxError{Format: Protobuf, Offset: at, Msg: "the body holds two lists"}
		}
		size, err := l.length(f, at, noEnd)
		if err != nil {
			return err
		}
		return l.enterList(size)
	case unknownContentEncoding, unknownContentType:
		_, err := l.message(f, at, noEnd, l.envelopeLimit(), "list content type")
		return err
	default:
		return l.skipField(f, at, noEnd)
	}
}

// bodyEnd is called where the envelope may end, when the source has failed with err.
func (l *ListReader) bodyEnd(err error) error {
	if err != io.EOF {
		return l.src.broken("the list's envelope", err)
	}
	if !l.itemsSeen {
		return l.src.broken("a list, whose items have not come", err)
	}
	return io.EOF
}

func (l *ListReader) setType(data []byte, at int64) error {
	var e Envelope
	if err := e.typeMeta(data, 0); err != nil {
		return shifted(err, at)
	}
	// A second type is merged into the first, as protobuf has it.
	if e.APIVersion != nil {
		l.meta.APIVersion = string(e.APIVersion)
	}
	if e.Kind != nil {
		l.meta.Kind = string(e.Kind)
	}
	if l.itemsSeen && l.meta.Kind != "" && !looksLikeList(l.meta.Kind) {
		return l.notAList("")
	}
	return nil
}

// shifted moves the offset of an error to where its data lies in the stream.
func shifted(err error, by int64) error {
	if e, ok := err.(*SyntaxError); ok {
		e.Offset += by
	}
	return err
}

// enterList goes into the list, or says what is there instead of one.
func (l *ListReader) enterList(size int64) error {
	if kind := l.meta.Kind; kind != "" && !looksLikeList(kind) {
		return l.notAList(l.statusMessage(size))
	}
	l.itemsSeen = true
	l.rawEnd = l.src.offset + size
	l.state = protoList
	return nil
}

// statusMessage returns the message if the body is a Status that can be read.
func (l *ListReader) statusMessage(size int64) string {
	if l.meta.Kind != "Status" || size > l.envelopeLimit() {
		return ""
	}
	data, err := l.src.need(int(size))
	if err != nil {
		return ""
	}
	var message []byte
	if err := lastBytes(&message, data, statusMessage, 0); err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(message), "\uFFFD")
}

// listField reads one field of the list and returns it if it is an item.
func (l *ListReader) listField() ([]byte, error) {
	if l.src.offset == l.rawEnd {
		l.state = protoTail
		return nil, nil
	}
	at := l.src.offset
	f, err := l.tag(l.rawEnd, "a list")
	if err != nil {
		return nil, err
	}
	switch f.num {
	case listItems:
		return l.message(f, at, l.rawEnd, l.limits.Frame, "list item")
	case listMetadata:
		data, err := l.message(f, at, l.rawEnd, l.envelopeLimit(), "list metadata")
		if err != nil {
			return nil, err
		}
		return nil, l.protoMeta(data, at)
	default:
		return nil, l.skipField(f, at, l.rawEnd)
	}
}

func (l *ListReader) protoMeta(data []byte, at int64) error {
	for i := 0; i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return shifted(badField(i, "the list's metadata"), at)
		}
		var err error
		var text []byte
		switch f.num {
		case listMetaResourceVersion:
			err = f.text(&text, data, i, next, 0)
			l.meta.ResourceVersion = string(text)
		case listMetaContinue:
			err = f.text(&text, data, i, next, 0)
			l.meta.Continue = string(text)
		case listMetaRemaining:
			err = f.want(wireVarint, i)
			l.meta.Remaining = int64(f.n)
		}
		if err != nil {
			return shifted(err, at)
		}
		i = next
	}
	return nil
}

// tag consumes the tag of a field of a message that ends at end.
func (l *ListReader) tag(end int64, what string) (field, error) {
	at := l.src.offset
	tag, err := l.uvarint(end, what)
	if err != nil {
		return field{}, err
	}
	f := field{num: int32(tag >> 3), wire: uint8(tag & 7)}
	if f.num <= 0 || f.wire == wireEnd {
		return f, shifted(badField(0, what), at)
	}
	return f, nil
}

// uvarint consumes a number.
func (l *ListReader) uvarint(end int64, what string) (uint64, error) {
	const longest = 10
	for {
		window := l.src.window()
		n, next := uvarint(window, 0)
		if next >= 0 && l.src.offset+int64(next) <= end {
			l.src.consume(next)
			return n, nil
		}
		if next >= 0 || len(window) >= longest || l.src.offset+int64(len(window)) >= end {
			return 0, shifted(badField(0, what), l.src.offset)
		}
		if err := l.src.more(); err != nil {
			return 0, l.src.broken(what, err)
		}
	}
}

// length consumes the length of the field f, which starts at the offset at, and
// checks it against the end of the message it is in.
func (l *ListReader) length(f field, at, end int64) (int64, error) {
	if err := f.want(wireBytes, 0); err != nil {
		return 0, shifted(err, at)
	}
	size, err := l.uvarint(end, "the length of a field")
	if err != nil {
		return 0, err
	}
	if size > uint64(end-l.src.offset) {
		return 0, shifted(protoError(0, "a field is longer than the message it is in"), at)
	}
	return int64(size), nil
}

// message consumes the value of the field f and returns it, never nil.
func (l *ListReader) message(f field, at, end, limit int64, what string) ([]byte, error) {
	size, err := l.length(f, at, end)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, &LimitError{What: what, Offset: at, Size: size, Limit: limit}
	}
	data, err := l.src.need(int(size))
	if err != nil {
		return nil, l.src.broken("a "+what, err)
	}
	l.src.consume(int(size))
	return data[:size:size], nil
}

// skipField passes a field that has no meaning here, without holding it.
func (l *ListReader) skipField(f field, at, end int64) error {
	for depth := 0; ; {
		var size int64
		var err error
		switch f.wire {
		case wireVarint:
			_, err = l.uvarint(end, "a list")
		case wireFixed8:
			size = 8
		case wireFixed4:
			size = 4
		case wireBytes:
			size, err = l.length(f, at, end)
		case wireGroup:
			depth++
		case wireEnd:
			depth--
		default:
			err = shifted(badField(0, "a list"), at)
		}
		if err == nil {
			err = l.discard(size, at, end)
		}
		if err != nil || depth == 0 {
			return err
		}
		tag, err := l.uvarint(end, "a list")
		if err != nil {
			return err
		}
		f.wire = uint8(tag & 7)
	}
}

func (l *ListReader) discard(size, at, end int64) error {
	if size > end-l.src.offset {
		return shifted(badField(0, "a list"), at)
	}
	for size > 0 {
		if l.src.size() == 0 {
			if err := l.src.more(); err != nil {
				return l.src.broken("a list", err)
			}
		}
		n := min(size, int64(l.src.size()))
		l.src.consume(int(n))
		size -= n
	}
	return nil
}
