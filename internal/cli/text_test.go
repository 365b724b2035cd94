package cli

import (
	"strings"
	"testing"
	"time"
)

func TestInline(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{"Running", "Running"},
		{"", `""`},
		{"two words", `"two words"`},
		{"a\nb", `"a\nb"`},
		{"containerd://1.7", "containerd://1.7"},
		{int64(3), "3"},
		{1.5, "1.5"},
		{true, "true"},
		{map[string]any{}, "{}"},
		{map[string]any{"b": "1", "a": "2"}, "{a: 2, b: 1}"},
		{map[string]any{"message": "long words", "reason": "Crash", "lastProbeTime": nil}, "{reason: Crash}"},
		{map[string]any{"startedAt": "2026"}, "{startedAt: 2026}"},
		{map[string]any{"long": "0123456789", "status": "True"}, "{status: True, long: 0123456789}"},
		{[]any{"a", int64(1)}, "[a, 1]"},
		{[]any{map[string]any{"name": "web", "x": "y"}, map[string]any{"type": "Ready"}}, "[web, Ready]"},
		{[]any{map[string]any{"ip": "10.0.0.1"}}, "[{ip: 10.0.0.1}]"},
	}
	for _, tt := range tests {
		if got := inline(tt.value); got != tt.want {
			t.Errorf("inline(%#v): got %s, want %s", tt.value, got, tt.want)
		}
	}
}

func TestShortenPair(t *testing.T) {
	long := strings.Repeat("a", 30)
	tests := []struct{ a, b, wantA, wantB string }{
		{"short", "other", "short", "other"},
		{long + "1", long + "2", "…" + strings.Repeat("a", 18) + "1", "…" + strings.Repeat("a", 18) + "2"},
		{"x" + long, "y" + long, "xaaaaaaaaaaaaaaaaaa…", "yaaaaaaaaaaaaaaaaaa…"},
		{long, "b", "aaaaaaaaaaaaaaaaaaa…", "b"},
		{"ä" + long + "1", "ä" + long + "2", "…" + strings.Repeat("a", 18) + "1", "…" + strings.Repeat("a", 18) + "2"},
	}
	for _, tt := range tests {
		a, b := shortenPair(tt.a, tt.b, 20)
		if a != tt.wantA || b != tt.wantB {
			t.Errorf("shortenPair(%q, %q): got %q, %q, want %q, %q", tt.a, tt.b, a, b, tt.wantA, tt.wantB)
		}
		if a == b {
			t.Errorf("shortenPair(%q, %q): they look the same: %q", tt.a, tt.b, a)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{short(1234 * time.Microsecond), "1ms"},
		{short(12340 * time.Millisecond), "12.3s"},
		{short(83*time.Second + 400*time.Millisecond), "1m23s"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	object := func(kind string, more map[string]any) map[string]any {
		more["kind"] = kind
		return more
	}
	m := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	tests := []struct {
		obj  map[string]any
		want string
	}{
		{object("Pod", m("status", m("phase", "Running"), "spec", m("nodeName", "n1"))), "Running, on n1"},
		{object("Deployment", m("spec", m("replicas", int64(3)), "status", m("readyReplicas", int64(2)))), "2/3 ready"},
		{object("Node", m("status", m("conditions", []any{m("type", "Ready", "status", "Unknown")}))), "NotReady"},
		{object("Secret", m("type", "Opaque", "data", m("a", "b"))), "Opaque, 1 key"},
		{object("Event", m("reason", "Killing", "type", "Normal", "message", "stop", "involvedObject", m("kind", "Pod", "name", "a"))), "Pod a Killing: stop"},
		{object("Event", m("metadata", m("name", "a.17"), "reason", "Killing", "type", "Warning", "note", "stop", "regarding", m("kind", "Pod", "name", "a"))),
			"Pod Warning Killing: stop"},
		{object("Odd", m("spec", "text", "status", int64(1))), ""},
	}
	for _, tt := range tests {
		if got := phraseOf(tt.obj); got != tt.want {
			t.Errorf("phraseOf(%v): got %q, want %q", tt.obj, got, tt.want)
		}
	}
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "web": 3, "größe": 5, "gro\u0308ße": 5, "名前": 4, "ｆｕｌｌ": 8, "🚀": 2, "→…": 2, "a\u200db": 2,
	} {
		if got := columns(text); got != want {
			t.Errorf("columns(%q): got %d, want %d", text, got, want)
		}
	}
	for _, tt := range []struct{ got, want string }{
		{shorten("名前名前", 8), "名前名前"},
		{shorten("名前名前", 7), "名前名…"},
		{shorten("名前名前", 6), "名前…"},
		{shorten("abc", 1), "…"},
		{shorten("abc", 0), ""},
		{pad("名前", 6), "名前  "},
		{shortenMiddle("shop/frontend-7c9d5f6b8-x2z4q", 20), "shop/frontend…-x2z4q"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
