package plain_test

import (
	"testing"

	"github.com/kinform/kinform/internal/plain"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"größe 名前\t🚀":             "größe 名前\t🚀",
		"a\x1b[31mb":              "a [31mb",
		"a\r\nb\x00\x7f":          "a  b  ",
		"one \u009b31m C1":        "one  31m C1",
		"8 bits \x9b31m":          "8 bits \ufffd31m",
		"\a\b\f\v\u0085":          "     ",
		"family \U0001f468\u200d": "family \U0001f468\u200d",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("Text(%q) is %q, want %q", text, got, want)
		}
	}
	if got := plain.Lines("a\x1bb\n\tc\r\n"); got != "a b\n\tc \n" {
		t.Errorf("Lines gave %q", got)
	}
}
