package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// readEvents reads events until an error that is final.
func readEvents(w *WatchReader) (events []string, skipped []error, err error) {
	for {
		ev, err := w.Next()
		var bad *EventError
		switch {
		case errors.As(err, &bad):
			skipped = append(skipped, err)
		case err != nil:
			return events, skipped, err
		default:
			events = append(events, fmt.Sprintf("%s %s %s/%s %x", ev.Type, ev.Format, ev.APIVersion, ev.Kind, ev.Object))
		}
	}
}

func sampleEvents() []sampleEvent {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: "Expired", Code: 410, Message: "too old"}
	return []sampleEvent{
		{Added, samplePod(1)}, {Modified, sampleConfigMap()}, {Deleted, samplePod(3)},
		{Bookmark, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "99"}}},
		{Error, status},
	}
}

func wantEvents(t testing.TB, f Format, events []sampleEvent) (want []string) {
	for _, ev := range events {
		apiVersion, kind := ev.Obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		want = append(want, fmt.Sprintf("%s %s %s/%s %x", ev.Type, f, apiVersion, kind, bare(t, f, ev.Obj)))
	}
	return want
}

// readers are the ways in which the same bytes can arrive.
var readers = map[string]func(io.Reader) io.Reader{
	"whole":     func(r io.Reader) io.Reader { return r },
	"one byte":  iotest.OneByteReader,
	"halves":    iotest.HalfReader,
	"data+err":  iotest.DataErrReader,
	"one+err":   func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
	"with gaps": func(r io.Reader) io.Reader { return &gaps{r: r} },
}

// gaps returns nothing on every other read.
type gaps struct {
	r   io.Reader
	gap bool
}

func (g *gaps) Read(p []byte) (int, error) {
	if g.gap = !g.gap; g.gap {
		return 0, nil
	}
	return g.r.Read(p)
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("number %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}

func TestWatchRoundTrip(t *testing.T) {
	for _, f := range formats {
		events := sampleEvents()
		if f == JSON {
			events = append(events, sampleEvent{Added, sampleCustom()})
		}
		stream, want := watchStream(t, f, events...), wantEvents(t, f, events)
		for name, reader := range readers {
			for _, buffer := range []int{0, 1, 100} {
				t.Run(fmt.Sprintf("%s/%s/buffer=%d", f, name, buffer), func(t *testing.T) {
					w := NewWatchReader(reader(bytes.NewReader(stream)), Limits{Buffer: buffer})
					got, skipped, err := readEvents(w)
					if err != io.EOF || skipped != nil {
						t.Fatalf("error %v, skipped %v", err, skipped)
					}
					equal(t, got, want)
					if w.Format() != f || w.Offset() != int64(len(stream)) {
						t.Errorf("format %s, offset %d, want %s, %d", w.Format(), w.Offset(), f, len(stream))
					}
					if _, err := w.Next(); err != io.EOF {
						t.Errorf("Next after the end: %v", err)
					}
				})
			}
		}
	}
}

// smallEvents is a stream that is short enough to be cut at each byte.
func smallEvents(t testing.TB, f Format) (stream []byte, ends []int) {
	for i := range 3 {
		obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p\"{%d", i)}}
		stream = append(stream, watchStream(t, f, sampleEvent{EventType(i + 1), obj})...)
		ends = append(ends, len(stream))
	}
	return stream, ends
}

func TestWatchBreaksAnywhere(t *testing.T) {
	broken := errors.New("connection reset")
	for _, f := range formats {
		stream, ends := smallEvents(t, f)
		all, _, _ := readEvents(NewWatchReader(bytes.NewReader(stream), Limits{}))
		for cut := range len(stream) + 1 {
			whole, between := 0, cut == 0
			for _, end := range ends {
				if f == JSON {
					end-- // the line feed behind an event is white space
				}
				if end <= cut {
					whole++
				}
				between = between || cut == end || f == JSON && cut == end+1
			}
			for name, reader := range readers {
				r := func(err error) *WatchReader {
					return NewWatchReader(reader(io.MultiReader(bytes.NewReader(stream[:cut]), iotest.ErrReader(err))), Limits{})
				}
				got, _, err := readEvents(r(io.EOF))
				equal(t, got, all[:whole])
				if between && err != io.EOF {
					t.Fatalf("%s, %s, end at %d, between events: %v", f, name, cut, err)
				}
				var read *ReadError
				if !between && (!errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &read) || read.Offset != int64(cut)) {
					t.Fatalf("%s, %s, end at %d, inside an event: %v", f, name, cut, err)
				}
				got, _, err = readEvents(r(broken))
				equal(t, got, all[:whole])
				if !errors.Is(err, broken) || !errors.As(err, &read) || read.Offset != int64(cut) {
					t.Fatalf("%s, %s, broken at %d: %v", f, name, cut, err)
				}
			}
		}
	}
}

func TestWatchJSONShapes(t *testing.T) {
	const object = `{"a":{"b":["}",{}]},"kind":"K","apiVersion":"g/v","kind":"no"}`
	for _, tt := range []struct{ stream, want string }{
		{`{"type":"ADDED","object":OBJ}`, "ADDED"},
		{`{"object":OBJ,"type":"ADDED"}`, "ADDED"},
		{" \n\t{ \"type\" : \"ADDED\" ,\r\n \"object\" : OBJ } \n ", "ADDED"},
		{`{"type":"ADDED","object":OBJ}{"type":"DELETED","object":OBJ}`, "ADDED DELETED"},
		{`{"x":{"object":1},"type":"ADDED","y":[[]],"object":OBJ,"z":null}`, "ADDED"},
		{`{"type":"DELETED","object":{},"object":OBJ,"type":"ADDED","object":null,"type":null}`, "ADDED"},
		{`{"t\u0079pe":"ADDE\u0044","object":OBJ}`, "ADDED"},
		{`{"type":"NEWS","object":OBJ}{"type":"ADDED","object":OBJ}`, "skip ADDED"},
		{`{"object":OBJ}{"type":"ADDED","object":OBJ}`, "skip ADDED"},
		{`{"type":"ADDED"}{"type":"ADDED","object":OBJ}`, "skip ADDED"},
		{`{"type":"ADDED","object":null}{"type":"ADDED","object":[]}{"type":"ADDED","object":OBJ}`, "skip skip ADDED"},
		{`{"type":5,"object":OBJ}{"type":"ADDED" "object":OBJ}{"type":"ADDED","object":OBJ}`, "skip skip ADDED"},
		{`{"type":"ADDED","object":OBJ,}{"type":"ADDED","object":OBJ}`, "skip ADDED"},
		{`{"kind":"Status","status":"Failure"}`, "skip"},
		{`{"type":"ADDED","object":OBJ}[]`, "ADDED fatal"},
		{`{"type":"ADDED","object":OBJ}}`, "ADDED fatal"},
		{``, ""},
		{" \n", ""},
	} {
		w := NewWatchReader(strings.NewReader(strings.ReplaceAll(tt.stream, "OBJ", object)), Limits{})
		var got []string
		for {
			ev, err := w.Next()
			var bad *EventError
			var syntax *SyntaxError
			if err == io.EOF {
				break
			} else if errors.As(err, &bad) {
				got = append(got, "skip")
			} else if errors.As(err, &syntax) {
				got = append(got, "fatal")
				break
			} else if err != nil {
				t.Fatalf("%s: %v", tt.stream, err)
			} else {
				got = append(got, ev.Type.String())
				if string(ev.Object) != object || string(ev.Kind) != "K" || string(ev.APIVersion) != "g/v" {
					t.Errorf("%s: object %s of type %s, %s", tt.stream, ev.Object, ev.APIVersion, ev.Kind)
				}
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: got %q, want %q", tt.stream, s, tt.want)
		}
	}
}

func TestWatchProtobufBadEvents(t *testing.T) {
	frame := func(data []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	}
	event := func(kind string, raw []byte) []byte {
		data, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return frame(data)
	}
	good := encode(t, Protobuf, sampleConfigMap())
	var stream []byte
	for _, bad := range [][]byte{
		frame(nil), frame([]byte{0xff}), frame([]byte{0x08, 1}), event("NEWS", good), event("", good), event("ADDED", nil),
		event("ADDED", []byte(`{"kind":"Pod"}`)), event("ADDED", good[:20]),
	} {
		stream = append(append(stream, bad...), event("ADDED", good)...)
	}
	events, skipped, err := readEvents(NewWatchReader(bytes.NewReader(stream), Limits{}))
	if err != io.EOF || len(events) != 8 || len(skipped) != 8 {
		t.Fatalf("%d events, %d skipped, %v; want 8, 8, EOF\n%v", len(events), len(skipped), err, skipped)
	}
}

func TestWatchLimits(t *testing.T) {
	for _, f := range formats {
		stream := watchStream(t, f, sampleEvent{Added, sampleConfigMap()}, sampleEvent{Added, samplePod(1)})
		big := int64(len(watchStream(t, f, sampleEvent{Added, samplePod(1)})))
		if f == Protobuf {
			big -= frameHeader
		} else {
			big-- // the line feed
		}
		for name, reader := range readers {
			events, _, err := readEvents(NewWatchReader(reader(bytes.NewReader(stream)), Limits{Frame: big}))
			if err != io.EOF || len(events) != 2 {
				t.Errorf("%s, %s, at the limit: %d events, %v", f, name, len(events), err)
			}
			events, _, err = readEvents(NewWatchReader(reader(bytes.NewReader(stream)), Limits{Frame: big - 1}))
			var limit *LimitError
			if !errors.As(err, &limit) || len(events) != 1 || limit.Limit != big-1 || limit.Size < big {
				t.Errorf("%s, %s, above the limit: %d events, %v", f, name, len(events), err)
			}
		}
	}
}

func TestWatchIsNot(t *testing.T) {
	for _, body := range []string{"<html><body>502 Bad Gateway</body></html>", "k8s\x00", "upstream connect error", "[]", "\xd9\xd9\xf7"} {
		_, err := NewWatchReader(strings.NewReader(body), Limits{}).Next()
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %v, want a SyntaxError", body, err)
		}
	}
}

// A length that was claimed must not be allocated before it has arrived.
func TestWatchClaimedLength(t *testing.T) {
	stream := append(binary.BigEndian.AppendUint32(nil, 60<<20), make([]byte, 1000)...)
	w := NewWatchReader(bytes.NewReader(stream), Limits{})
	if _, err := w.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if len(w.src.buf) > 2*smallBuffer {
		t.Errorf("buffer of %d bytes for %d that came", len(w.src.buf), len(stream))
	}
}

func TestWatchBuffered(t *testing.T) {
	for _, f := range formats {
		stream, ends := smallEvents(t, f)
		for cut := ends[0]; cut <= len(stream); cut++ {
			// All bytes up to cut come at once, then one by one.
			reads := &countReads{r: io.MultiReader(bytes.NewReader(stream[:cut]), iotest.OneByteReader(bytes.NewReader(stream[cut:])))}
			w := NewWatchReader(reads, Limits{})
			if w.Buffered() {
				t.Fatal("an event is in memory before anything was read")
			}
			for {
				buffered, before := w.Buffered(), reads.n
				_, err := w.Next()
				if read := reads.n > before; read == buffered {
					t.Fatalf("%s, cut at %d: Buffered is %v, and Next reads: %v (%v)", f, cut, buffered, read, err)
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

type countReads struct {
	r io.Reader
	n int
}

func (c *countReads) Read(p []byte) (int, error) {
	c.n++
	return c.r.Read(p)
}

func TestWatchDoesNotAllocate(t *testing.T) {
	for _, f := range formats {
		stream := watchStream(t, f, sampleEvent{Added, samplePod(1)}, sampleEvent{Modified, samplePod(2)})
		w := NewWatchReader(&endless{piece: stream, chunk: 1000}, Limits{})
		next := func() {
			if _, err := w.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			next()
		}
		if allocs := testing.AllocsPerRun(1000, next); allocs != 0 {
			t.Errorf("%s: %v allocations per event", f, allocs)
		}
	}
}
