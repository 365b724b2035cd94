package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Each byte at each place of strings of each length: the scanner looks at eight
// bytes at a time, and must see the same as one that looks at one.
func TestStringsBytewise(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				text := []byte(`{"metadata":{"name":"` + strings.Repeat("a", length) + `"}}`)
				text[len(`{"metadata":{"name":"`)+at] = byte(c)
				var want scanned
				ref := jsonUnmarshal(text, &want)
				var m Meta
				if err := m.Scan(JSON, text); (err == nil) != (ref == nil) {
					t.Fatalf("%q: %v, want %v", text, err, ref)
				}
				if ref == nil && string(m.Name) != want.Metadata.Name {
					t.Fatalf("%q: name is %q, want %q", text, m.Name, want.Metadata.Name)
				}
				frame := text[len(`{"metadata":{"name":`):]
				var f framer
				if ended := f.scan(frame); ref == nil && (!ended || f.n != len(frame)-2) {
					t.Fatalf("%q: end at %d (%v)", frame, f.n, ended)
				}
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, number := range strings.Fields(`0 -0 1 -1 10 01 -01 - + +1 .5 5. 0.5 00.5 1e5 1E5 1e+5 1e-5 1e 1e+ 1.5e5 1.e5 1e5.5 0e0 0x1 1_0 -9223372036854775808
		-9223372036854775809 9223372036854775807 9223372036854775808 18446744073709551616 99999999999999999999999 NaN Infinity`) {
		skipped := []byte(`{"a":` + number + `}`)
		if err := new(Meta).Scan(JSON, skipped); (err == nil) != json.Valid(skipped) {
			t.Errorf("%s: %v", skipped, err)
		}
		read := []byte(`{"metadata":{"generation":` + number + `}}`)
		var want scanned
		var m Meta
		ref, err := jsonUnmarshal(read, &want), m.Scan(JSON, read)
		if (err == nil) != (ref == nil) || err == nil && m.Generation != want.Metadata.Generation {
			t.Errorf("%s: %d (%v), want %d (%v)", read, m.Generation, err, want.Metadata.Generation, ref)
		}
	}
}

// The end of a value is found no matter where its bytes are divided.
func TestFramerStopsAnywhere(t *testing.T) {
	for _, value := range []string{`{"a":["\\\"]}",{"b":1}],"c":{}}`, `["\"",[]]`, `"a\\\"b"`, `-1.5e3`, `null`} {
		text := []byte(value + ", more")
		for first := range text {
			for second := first; second < len(text); second++ {
				var f framer
				done := f.scan(text[:first]) || f.scan(text[:second]) || f.scan(text)
				if !done || f.n != len(value) {
					t.Fatalf("%s in pieces of %d and %d: end at %d (%v)", value, first, second-first, f.n, done)
				}
				if f.scan(text); f.n != len(value) {
					t.Fatalf("%s: asked again, the end is at %d", value, f.n)
				}
			}
		}
	}
}

func TestUnquote(t *testing.T) {
	var runes []string
	for _, r := range []int{0, 0x22, 0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfffd, 0xffff} {
		runes = append(runes, fmt.Sprintf(`\u%04x`, r), fmt.Sprintf(`\u%04X`, r))
	}
	for _, a := range runes {
		for _, b := range append(runes, `\n`, "x", "") {
			for _, c := range []string{"", `\udc00`, "y"} {
				var want string
				if err := json.Unmarshal([]byte(`"`+a+b+c+`"`), &want); err != nil {
					t.Fatal(err)
				}
				if got := unquote(nil, []byte(a+b+c)); string(got) != want {
					t.Errorf("%s%s%s is %q, want %q", a, b, c, got, want)
				}
			}
		}
	}
}
