package faultproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/wire"
)

// frame is one event of a watch as it travels.
type frame struct {
	bytes            []byte
	event            wire.EventType
	key              string
	version          uint64
	apiVersion, kind string
	initialEnd       bool
}

// isData: it is a change of an object.
func (f *frame) isData() bool {
	return f.event == wire.Added || f.event == wire.Modified || f.event == wire.Deleted
}

// frames reads the frames of a watch.
type frames struct {
	in       *bufio.Reader
	protobuf bool
	meta     wire.Meta
}

const largestFrame = 16 << 20

var errTooLarge = errors.New("a frame larger than any object")

func newFrames(body io.Reader, contentType string) *frames {
	return &frames{in: bufio.NewReaderSize(body, 64<<10), protobuf: strings.Contains(contentType, "protobuf")}
}

// next returns the next frame, in memory of its own.
func (f *frames) next() (*frame, error) {
	raw, err := f.raw()
	if err != nil {
		return nil, err
	}
	fr := &frame{bytes: raw}
	ev, err := wire.NewWatchReader(bytes.NewReader(raw), wire.Limits{}).Next()
	if err != nil {
		return fr, nil // passed on as it is; the client will say what it is
	}
	fr.event, fr.apiVersion, fr.kind = ev.Type, string(ev.APIVersion), string(ev.Kind)
	fr.initialEnd = ev.Type == wire.Bookmark && bytes.Contains(ev.Object, []byte(metav1.InitialEventsAnnotationKey))
	if f.meta.Scan(ev.Format, ev.Object) == nil {
		fr.key = string(f.meta.Namespace) + "/" + string(f.meta.Name)
		fr.version, _ = strconv.ParseUint(string(f.meta.ResourceVersion), 10, 64)
	}
	return fr, nil
}

func (f *frames) raw() ([]byte, error) {
	if !f.protobuf {
		return f.in.ReadBytes('\n')
	}
	var head [4]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > largestFrame {
		return nil, errTooLarge
	}
	raw := append(head[:], make([]byte, n)...)
	_, err := io.ReadFull(f.in, raw[4:])
	return raw, err
}

// noise is a frame of the size of another one that no decoder takes.
func (f *frames) noise(like *frame) []byte {
	out := bytes.Repeat([]byte{0xff}, len(like.bytes))
	if f.protobuf {
		copy(out, like.bytes[:4])
	} else {
		out[len(out)-1] = '\n'
	}
	return out
}

// endless is the beginning of a frame that is larger than anything.
func (f *frames) endless() []byte {
	if f.protobuf {
		return []byte{0x7f, 0xff, 0xff, 0xff, 0x0a, 0x05, 'A', 'D', 'D', 'E', 'D'}
	}
	return []byte(`{"type":"ADDED","object":{"metadata":{"name":"`)
}

// build makes a frame of an event that no server sent.
func (f *frames) build(event, apiVersion, kind string, obj any) ([]byte, error) {
	if !f.protobuf {
		object, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}{event, object})
		return append(b, '\n'), err
	}
	message, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		return nil, err
	}
	envelope, err := (&runtime.Unknown{
		TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: message,
	}).Marshal()
	if err != nil {
		return nil, err
	}
	b, err := (&metav1.WatchEvent{Type: event,
		Object: runtime.RawExtension{Raw: append([]byte("k8s\x00"), envelope...)}}).Marshal()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...), nil
}

// bookmark makes a bookmark like those that come with another frame.
func (f *frames) bookmark(like *frame, version uint64) ([]byte, error) {
	return f.build("BOOKMARK", like.apiVersion, like.kind, &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: like.apiVersion, Kind: like.kind},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(version, 10)},
	})
}

// failure makes an event of type ERROR.
func (f *frames) failure(code int, reason metav1.StatusReason) ([]byte, error) {
	return f.build("ERROR", "v1", "Status", failure(code, reason))
}
