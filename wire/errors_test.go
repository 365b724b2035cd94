package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// What a person reads must say what was tried, where, and what to do.
func TestErrorsSpeak(t *testing.T) {
	scan := func(f Format, raw string) error { return new(Meta).Scan(f, []byte(raw)) }
	watch := func(body string, l Limits) error {
		_, err := NewWatchReader(strings.NewReader(body), l).Next()
		return err
	}
	list := func(body string) error {
		_, err := readItems(NewListReader(strings.NewReader(body), Limits{}))
		return err
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{scan(JSON, `{"metadata":{"name":7}}`), `bad json at byte 20: metadata.name is not a string`},
		{scan(Protobuf, "\x0a\x03\x0a\x05x"), `bad protobuf at byte 2: malformed or cut field in metadata`},
		{scan(Protobuf, "\x0a\x02\x08\x01"), `bad protobuf at byte 2: field 1 has the wrong wire type 0`},
		{scan(9, ""), `bad unknown at byte 0: the format must be JSON or Protobuf`},
		{watch("<html>no</html>", Limits{}), `bad data at byte 0: not a watch stream, it starts with "<html>no</html>"`},
		{watch(`{"type":"ADDED","object":{}}`, Limits{Frame: 9}), `watch event at byte 0 has 28 bytes or more, the limit is 9: raise Options.MaxObjectSize (package wire: Limits.Frame) if it is meant to be that large`},
		{watch(`{"type":"ADDED","obj`, Limits{}), `reading a watch event: stream broke at byte 20: unexpected EOF`},
		{watch(`{"type":"NEWS","object":{}}`, Limits{}), `watch event at byte 0: the event has the unknown type "NEWS"`},
		{list(`{"kind":"Status","apiVersion":"v1","message":"no leader"}`), `body is not a list but a Status: no leader`},
		{list(`{"kind":"Pod","apiVersion":"v1"}`), `body is not a list but a Pod (v1)`},
		{list(`{}`), `body is not a Kubernetes list: it has neither a kind nor items`},
		{list(`{"kind":"PodList","items":[`), `reading a list: stream broke at byte 27: unexpected EOF`},
		{list(``), `reading a list, of which nothing came: stream broke at byte 0: unexpected EOF`},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
	var syntax *SyntaxError
	if err := watch(`{"type":5}`, Limits{}); !errors.As(err, &syntax) {
		t.Errorf("%v does not unwrap to its cause", err)
	}
	if err := watch(`{`, Limits{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v does not unwrap to its cause", err)
	}
}

func TestNames(t *testing.T) {
	for f, want := range map[Format]string{JSON: "json", Protobuf: "protobuf", 0: "unknown"} {
		if f.String() != want {
			t.Errorf("format %d is %q, want %q", f, f, want)
		}
	}
	for typ, want := range map[EventType]string{Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Bookmark: "BOOKMARK", Error: "ERROR", 0: "UNKNOWN"} {
		if typ.String() != want {
			t.Errorf("type %d is %q, want %q", typ, typ, want)
		}
	}
}
