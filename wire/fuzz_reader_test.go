package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilframer "k8s.io/apimachinery/pkg/util/framer"
)

// chunks hands out data in pieces of n bytes.
type chunks struct {
	data  []byte
	n     int
	reads int
}

func (c *chunks) Read(p []byte) (int, error) {
	c.reads++
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.data)
	c.data = c.data[n:]
	return n, nil
}

var fuzzLimits = Limits{Frame: 1 << 16, Buffer: 1 << 10}

// checkMemory fails if more than twice of what came, or of the least, is in memory.
func checkMemory(t *testing.T, s *source, size int) {
	if len(s.buf) > 2*max(size, smallBuffer) {
		t.Fatalf("buffer of %d bytes for %d that came", len(s.buf), size)
	}
}

type fuzzEvent struct {
	typ              string
	apiVersion, kind string
	object           string
	bad              bool
}

// fuzzWatch reads all events, and checks Buffered on the way.
func fuzzWatch(t *testing.T, data []byte, chunk int) (events []fuzzEvent, final string) {
	src := &chunks{data: data, n: chunk}
	w := NewWatchReader(src, fuzzLimits)
	for {
		buffered, reads := w.Buffered(), src.reads
		ev, err := w.Next()
		if buffered && src.reads > reads {
			t.Fatal("Next reads although an event is in memory")
		}
		var bad *EventError
		switch {
		case err == nil:
			if !buffered && src.reads == reads {
				t.Fatal("an event was in memory, and Buffered did not know")
			}
			events = append(events, fuzzEvent{typ: ev.Type.String(), apiVersion: string(ev.APIVersion), kind: string(ev.Kind), object: string(ev.Object)})
		case errors.As(err, &bad):
			events = append(events, fuzzEvent{bad: true})
		default:
			checkMemory(t, &w.src, len(data))
			return events, errorText(err)
		}
	}
}

func FuzzWatchReader(f *testing.F) {
	for _, format := range formats {
		small, _ := smallEvents(f, format)
		f.Add(small, uint16(7))
	}
	f.Add([]byte(` {"object":{"a":["}"],"kind":"K"},"x":[{}],"type":"ADDED"} {"type":"NEWS"}`), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint16) { checkWatch(t, data, int(chunk)) })
}

// checkWatch reads data whole and in pieces, and compares with apimachinery's
// decoders. It reports how many good events there are.
func checkWatch(t *testing.T, data []byte, chunk int) (good int) {
	events, final := fuzzWatch(t, data, len(data)+1)
	pieces, finalPieces := fuzzWatch(t, data, chunk+1)
	if len(events) != len(pieces) || final != finalPieces {
		t.Fatalf("whole: %d events, %s\nin pieces of %d: %d events, %s", len(events), final, chunk+1, len(pieces), finalPieces)
	}
	for i := range events {
		if events[i] != pieces[i] {
			t.Fatalf("event %d is %+v, and in pieces %+v", i, events[i], pieces[i])
		}
		if !events[i].bad {
			good++
		}
	}
	if len(data) == 0 {
		return 0
	}
	if c := data[0]; c == '{' || isSpace(c) {
		checkWatchJSON(t, data, events, final)
	} else if c < '\t' {
		checkWatchProto(t, data, events)
	}
	return good
}

// checkWatchJSON compares with apimachinery up to where that finds an error.
func checkWatchJSON(t *testing.T, data []byte, events []fuzzEvent, final string) {
	d := json.NewDecoder(bytes.NewReader(data))
	for i := 0; ; i++ {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err == io.EOF {
			if len(events) != i || final != "EOF" {
				t.Fatalf("%d events, %s; apimachinery has %d and a clean end", len(events), final, i)
			}
			return
		}
		if err != nil || raw[0] != '{' || len(raw) > int(fuzzLimits.Frame) {
			return
		}
		if i >= len(events) {
			t.Fatalf("event %d is missing: %s", i, final)
		}
		checkEvent(t, events[i], raw)
	}
}

func checkEvent(t *testing.T, got fuzzEvent, raw []byte) {
	var want metav1.WatchEvent
	err := jsonUnmarshal(raw, &want)
	bad := err != nil || parseEventType([]byte(want.Type)) == 0 || len(want.Object.Raw) == 0 || want.Object.Raw[0] != '{'
	if bad != got.bad {
		t.Fatalf("event %s: bad is %v, want %v (%v)", raw, got.bad, bad, err)
	}
	if !bad && (got.typ != want.Type || got.object != string(want.Object.Raw)) {
		t.Fatalf("event is %+v, want %s %s", got, want.Type, want.Object.Raw)
	}
}

func checkWatchProto(t *testing.T, data []byte, events []fuzzEvent) {
	frames := utilframer.NewLengthDelimitedFrameReader(io.NopCloser(bytes.NewReader(data)))
	buf := make([]byte, len(data)+1)
	for i := 0; ; i++ {
		n, err := frames.Read(buf)
		if err != nil || n > int(fuzzLimits.Frame) {
			if len(events) != i {
				t.Fatalf("%d events; apimachinery has %d, and %v", len(events), i, err)
			}
			return
		}
		var want metav1.WatchEvent
		var unknown runtime.Unknown
		err = want.Unmarshal(buf[:n])
		if err == nil && parseEventType([]byte(want.Type)) == 0 {
			err = errNoType
		}
		if err == nil {
			_, _, err = serializerFor(t, Protobuf).Serializer.Decode(want.Object.Raw, nil, &unknown)
		}
		if i >= len(events) {
			t.Fatalf("event %d is missing", i)
		}
		got := events[i]
		if got.bad != (err != nil) {
			t.Fatalf("event %d: bad is %v; apimachinery: %v", i, got.bad, err)
		}
		if err == nil && (got.typ != want.Type || got.apiVersion != unknown.APIVersion || got.kind != unknown.Kind || got.object != string(unknown.Raw)) {
			t.Fatalf("event %d is %+v, want %+v", i, got, unknown)
		}
	}
}

func FuzzListReader(f *testing.F) {
	for _, format := range formats {
		f.Add(encode(f, format, smallList()), uint16(99))
		f.Add(encode(f, format, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Message: "no"}), uint16(2))
	}
	f.Add([]byte(` {"apiVersion":"v1","items":[{"a":"]"},{}] , "kind":"WidgetList","x":[1],"metadata":{"remainingItemCount":null}}`), uint16(3))
	f.Add([]byte("k8s\x00\x12\x0b\x2b\x33\x35abcd\x34\x2c\x12\x00\x0a\x0a\x12\x08ThatList"), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint16) { checkListBody(t, data, int(chunk)) })
}

// checkListBody reads data whole and in pieces, and compares with apimachinery's
// decoders. It reports whether data is a list.
func checkListBody(t *testing.T, data []byte, chunk int) bool {
	read := func(chunk int) ([]string, ListMeta, error) {
		l := NewListReader(&chunks{data: data, n: chunk}, fuzzLimits)
		items, err := readItems(l)
		checkMemory(t, &l.src, len(data))
		return items, l.Meta(), err
	}
	items, meta, err := read(len(data) + 1)
	pieces, metaPieces, errPieces := read(int(chunk) + 1)
	if meta != metaPieces || len(items) != len(pieces) || errorText(err) != errorText(errPieces) {
		t.Fatalf("whole: %d items, %+v, %v\nin pieces: %d items, %+v, %v", len(items), meta, err, len(pieces), metaPieces, errPieces)
	}
	equal(t, items, pieces)
	if bytes.HasPrefix(data, []byte(envelopePrefix)) {
		checkListProto(t, data, items, meta, err)
	} else {
		checkListJSON(t, data, items, meta, err)
	}
	return err == nil
}

// errorText is err without the excerpt of the body, which depends on what has come.
func errorText(err error) string {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return "syntax error"
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// listed has the fields of a list that ListReader reads.
type listed struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
		Remaining       *int64 `json:"remainingItemCount"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

func checkListJSON(t *testing.T, data []byte, items []string, meta ListMeta, err error) {
	var want listed
	if ref := jsonUnmarshal(data, &want); ref != nil {
		for _, item := range items {
			if !json.Valid([]byte(item)) {
				return // ListReader does not look into items
			}
		}
		if err == nil {
			t.Fatalf("accepted, and apimachinery says %v", ref)
		}
		return
	}
	if isNull(data) || duplicateKeys(data) || len(data) > int(fuzzLimits.Frame) {
		return
	}
	var kind *KindError
	if errors.As(err, &kind) {
		if want.Kind != "Table" && (want.Items != nil || looksLikeList(want.Kind)) {
			t.Fatal(err)
		}
		return
	}
	for _, item := range want.Items {
		if item[0] != '{' {
			if err == nil {
				t.Fatalf("item %s is accepted", item)
			}
			return
		}
	}
	if err != nil {
		t.Fatalf("apimachinery accepts, ListReader does not: %v", err)
	}
	checkList(t, meta, want.APIVersion, want.Kind, metav1.ListMeta{
		ResourceVersion: want.Metadata.ResourceVersion, Continue: want.Metadata.Continue, RemainingItemCount: want.Metadata.Remaining,
	})
	if len(items) != len(want.Items) {
		t.Fatalf("%d items, want %d", len(items), len(want.Items))
	}
	for i := range items {
		if items[i] != string(want.Items[i]) {
			t.Fatalf("item %d is %s, want %s", i, items[i], want.Items[i])
		}
	}
}

func checkList(t *testing.T, meta ListMeta, apiVersion, kind string, want metav1.ListMeta) {
	remaining := int64(-1)
	if want.RemainingItemCount != nil {
		remaining = *want.RemainingItemCount
	}
	if w := (ListMeta{APIVersion: apiVersion, Kind: kind, ResourceVersion: want.ResourceVersion, Continue: want.Continue, Remaining: remaining}); meta != w {
		t.Fatalf("list is %+v, want %+v", meta, w)
	}
}

func checkListProto(t *testing.T, data []byte, items []string, meta ListMeta, err error) {
	var unknown runtime.Unknown
	if ref := unknown.Unmarshal(data[len(envelopePrefix):]); ref != nil {
		if err == nil {
			t.Fatalf("accepted, and apimachinery says %v", ref)
		}
		return
	}
	lists := 0
	for i := len(envelopePrefix); i < len(data); {
		f, next := readField(data, i)
		if f.num == unknownRaw {
			lists++
		}
		i = next
	}
	if lists != 1 || unknown.Kind != "" && !looksLikeList(unknown.Kind) {
		if err == nil {
			t.Fatalf("accepted: %d lists, %s", lists, unknown.Kind)
		}
		return
	}
	var want metav1.PartialObjectMetadataList
	if want.Unmarshal(unknown.Raw) != nil || len(data) > int(fuzzLimits.Frame) {
		return
	}
	var kind *KindError
	if errors.As(err, &kind) && kind.Kind != unknown.Kind {
		return // there are two kinds, and the last is good; the first was seen before the list
	}
	if err != nil {
		t.Fatalf("apimachinery accepts, ListReader does not: %v", err)
	}
	checkList(t, meta, unknown.APIVersion, unknown.Kind, want.ListMeta)
	if len(items) != len(want.Items) {
		t.Fatalf("%d items, want %d", len(items), len(want.Items))
	}
	for i := range items {
		var item metav1.PartialObjectMetadata
		if err := item.Unmarshal([]byte(items[i])); err != nil || item.String() != want.Items[i].String() {
			t.Fatalf("item %d is %x (%v), want %v", i, items[i], err, want.Items[i])
		}
	}
}
