package wire

import (
	"io"
	"strings"
)

// ListMeta is what a list says of itself.
type ListMeta struct {
	APIVersion, Kind          string // of the list, such as "v1", "PodList"
	ResourceVersion, Continue string
	Remaining                 int64 // remainingItemCount; -1 if the server did not say
}

// ListReader reads the body of a list, item by item, as it arrives.
type ListReader struct {
	src    source
	limits Limits
	format Format
	meta   ListMeta
	state  listState
	err    error // final

	itemsSeen bool
	first     bool   // JSON: no member, or no item, has been read yet
	status    string // JSON: the message, if the body turns out to be a Status
	rawEnd    int64  // protobuf: offset of the end of the list in its envelope
}

// listState is where in the body the reader is.
type listState uint8

const (
	listStart listState = iota
	protoEnvelope
	protoList
	protoTail // in the envelope, after the list
	jsonMembers
	jsonItems
	jsonTail // after the list
)

// NewListReader returns a reader of the list body r. It finds out the format from
// the first bytes: "k8s\x00" starts protobuf; '{' or white space, JSON. It is not
// safe for concurrent use.
func NewListReader(r io.Reader, l Limits) *ListReader {
	l = l.withDefaults()
	return &ListReader{src: newSource(r, l.Buffer), limits: l, meta: ListMeta{Remaining: -1}}
}

// Next returns the next item, valid until the next call. Protobuf items have no
// envelope; the items of built-in types have no apiVersion and kind.
//
// Possible errors, all final: [io.EOF] when a complete list has been read and the
// body has ended; [ReadError] when the source failed or ended early; [KindError]
// when the body is not a list; [SyntaxError]; [LimitError].
func (l *ListReader) Next() ([]byte, error) {
	for l.err == nil {
		var item []byte
		item, l.err = l.step()
		if item != nil && l.err == nil {
			return item, nil
		}
	}
	return nil, l.err
}

// Meta returns what is known of the list so far: all of it after io.EOF, as custom
// resources send their metadata after the items.
func (l *ListReader) Meta() ListMeta { return l.meta }

// Format returns the format of the list, zero before the first call of Next.
func (l *ListReader) Format() Format { return l.format }

// Offset returns how many bytes of the body have been consumed.
func (l *ListReader) Offset() int64 { return l.src.offset }

// step reads the next part of the body and returns it if it is an item.
func (l *ListReader) step() ([]byte, error) {
	switch l.state {
	case listStart:
		return nil, l.sniff()
	case protoEnvelope, protoTail:
		return nil, l.envelopeField()
	case protoList:
		return l.listField()
	case jsonMembers:
		return nil, l.jsonMember()
	case jsonItems:
		return l.jsonItem()
	default:
		return nil, l.jsonEnd()
	}
}

func (l *ListReader) sniff() error {
	first, err := l.src.need(1)
	if err != nil {
		return l.src.broken("a list, of which nothing came", err)
	}
	if c := first[0]; c == '{' || isSpace(c) {
		return l.jsonStart()
	}
	for l.src.size() < len(envelopePrefix) && l.src.more() == nil {
	}
	body := l.src.window()
	if prefix := body[:min(len(body), len(envelopePrefix))]; string(prefix) != envelopePrefix {
		if strings.HasPrefix(envelopePrefix, string(prefix)) {
			return l.src.broken("the start of a list", l.src.err)
		}
		return &SyntaxError{Msg: "not a Kubernetes list, the body starts with " + excerpt(body)}
	}
	l.src.consume(len(envelopePrefix))
	l.format, l.state = Protobuf, protoEnvelope
	return nil
}

// envelopeLimit bounds the parts of a body that are not items.
func (l *ListReader) envelopeLimit() int64 { return min(l.limits.Frame, envelopeLimit) }

// looksLikeList reports whether kind is one that Kubernetes gives to lists. Custom
// resources are free to choose another one.
func looksLikeList(kind string) bool { return strings.HasSuffix(kind, "List") }

func (l *ListReader) notAList(message string) error {
	return &KindError{APIVersion: l.meta.APIVersion, Kind: l.meta.Kind, Message: message}
}
