package wire

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// These tests make inputs that are nearly right, which mutated bytes seldom are,
// and put them through the checks of the fuzz targets.

type generator struct{ *rand.Rand }

func pick[T any](g generator, choices ...T) T { return choices[g.IntN(len(choices))] }

func (g generator) space() string { return pick(g, "", "", "", "", "", " ", "\n", "\t \r") }

func (g generator) str() string {
	return `"` + pick(g, "", "a", "b", "name", "2026-01-02T03:04:05Z", `\u0061`, `\ud83d\ude42`, `\ud83d`, `\\`, `\"`, "ö", "\xff", "long enough to need two steps", `]}`) + pick(g, "", "", "x") + `"`
}

func (g generator) scalar() string {
	return pick(g, "null", "true", "false", "0", "-0", "7", "1.5", "1e3", "-9223372036854775808", "9223372036854775808", g.str(), g.str(), g.str())
}

// broken is rarely something that is not JSON.
func (g generator) broken() string {
	if g.IntN(200) > 0 {
		return ""
	}
	return pick(g, ",", "01", "tru", `"`, "}", "]", "{", "x", "\x00", `"\x"`, "\"\n\"")
}

func (g generator) object(keys []string, value func(key string) string) string {
	if g.IntN(20) == 0 {
		return g.scalar()
	}
	var members []string
	for range g.IntN(6) {
		key := pick(g, keys...)
		name := `"` + key + `"`
		if g.IntN(10) == 0 {
			name = fmt.Sprintf(`"\u%04x%s"`, key[0], key[1:])
		}
		members = append(members, g.space()+name+g.space()+":"+g.space()+value(key)+g.space())
	}
	return "{" + strings.Join(members, ",") + g.broken() + "}"
}

func (g generator) any(depth int) string {
	if depth == 0 || g.IntN(2) == 0 {
		return g.scalar() + g.broken()
	}
	if g.IntN(2) == 0 {
		return g.object([]string{"a", "metadata", "b"}, func(string) string { return g.any(depth - 1) })
	}
	var elements []string
	for range g.IntN(4) {
		elements = append(elements, g.space()+g.any(depth-1)+g.space())
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (g generator) metadata() string {
	keys := []string{"name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp", "labels", "ownerReferences", "managedFields", "annotations", "other"}
	return g.object(keys, func(key string) string {
		switch {
		case g.IntN(30) == 0:
			return g.any(2)
		case key == "labels" || key == "annotations":
			return g.object([]string{"a", "b", "c", "ö"}, func(string) string { return pick(g, g.str(), g.str(), "null") })
		case key == "ownerReferences":
			return "[" + strings.Join([]string{g.owner(), g.owner()}[:g.IntN(3)], ",") + "]"
		case key == "generation":
			return pick(g, "1", "-5", "null", "9223372036854775807")
		case key == "deletionTimestamp":
			return pick(g, `"2026-01-02T03:04:05Z"`, `"0001-01-01T00:00:00Z"`, "null", `""`)
		case key == "managedFields" || key == "other":
			return g.any(2)
		default:
			return pick(g, g.str(), g.str(), g.str(), "null")
		}
	})
}

func (g generator) owner() string {
	return g.object([]string{"apiVersion", "kind", "name", "uid", "controller", "x"}, func(key string) string {
		if key == "controller" {
			return pick(g, "true", "false", "null")
		}
		return g.str()
	})
}

func (g generator) json() string {
	return g.space() + g.object([]string{"apiVersion", "kind", "metadata", "metadata", "spec", "status"}, func(key string) string {
		switch key {
		case "metadata":
			return g.metadata()
		case "apiVersion", "kind":
			return pick(g, g.str(), g.str(), "null")
		default:
			return g.any(3)
		}
	}) + g.space()
}

func TestRandomJSON(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	var m Meta
	accepted := 0
	const n = 10_000
	for range n {
		raw := []byte(g.json())
		checkScanJSON(t, &m, raw)
		checkDropped(t, JSON, raw)
		if t.Failed() {
			t.Fatalf("for %s", raw)
		}
		if m.Scan(JSON, raw) == nil {
			accepted++
		}
	}
	if accepted < n/3 || accepted > n*9/10 {
		t.Errorf("%d of %d are accepted: the mix shows little", accepted, n)
	}
}

// uvarint writes n, now and then with bytes that it does not need.
func (g generator) uvarint(n uint64) []byte {
	out := appendUvarint(nil, n)
	for g.IntN(50) == 0 && len(out) < 9 {
		out[len(out)-1] |= 0x80
		out = append(out, 0)
	}
	return out
}

func (g generator) field(num uint64, value []byte) []byte {
	if g.IntN(100) == 0 {
		num += 1 << 32 // the decoders see the low bits only
	}
	out := append(g.uvarint(num<<3|wireBytes), g.uvarint(uint64(len(value)))...)
	if g.IntN(100) == 0 {
		out[len(out)-1] += byte(g.IntN(5)) // wrong length
	}
	return append(out, value...)
}

func (g generator) other(num uint64) []byte {
	switch pick(g, wireVarint, wireFixed8, wireBytes, wireGroup, wireFixed4, wireVarint) {
	case wireVarint:
		return append(g.uvarint(num<<3), g.uvarint(g.Uint64()>>g.IntN(64))...)
	case wireFixed8:
		return append(g.uvarint(num<<3|wireFixed8), make([]byte, 8)...)
	case wireFixed4:
		return append(g.uvarint(num<<3|wireFixed4), make([]byte, 4)...)
	case wireGroup:
		out := append(g.uvarint(num<<3|wireGroup), g.other(g.Uint64N(4))...)
		return append(out, g.uvarint(g.Uint64N(4)<<3|wireEnd)...)
	default:
		return g.field(num, []byte(pick(g, "", "ab", "\x0a\x01x")))
	}
}

func (g generator) message(depth int, nums ...uint64) []byte {
	var out []byte
	for range g.IntN(6) {
		switch num := pick(g, nums...); {
		case g.IntN(25) == 0:
			out = append(out, g.other(pick(g, num, 30, 40))...)
		case depth == 2: // the object
			out = append(out, g.field(num, g.message(1, 1, 3, 5, 6, 7, 9, 11, 11, 13, 17, 12))...)
		case depth == 1 && num == metaGeneration:
			out = append(out, append(g.uvarint(num<<3), g.uvarint(g.Uint64()>>g.IntN(64))...)...)
		case depth == 1 && (num == metaLabels || num == 12):
			out = append(out, g.field(num, g.message(0, 1, 2))...)
		case depth == 1 && num == metaDeletionTimestamp:
			seconds := append([]byte{timeSeconds << 3}, appendUvarint(nil, pick(g, 0, 1, uint64(1<<64-62135596800)))...)
			out = append(out, g.field(num, pick(g, nil, seconds))...)
		case depth == 1 && num == metaOwnerReferences:
			owner := append(g.message(0, 1, 3, 4, 5), pick(g, nil, []byte{ownerController << 3, 1}, []byte{ownerController << 3, 0})...)
			out = append(out, g.field(num, owner)...)
		case depth == 1 && num == metaManagedFields:
			out = append(out, g.field(num, g.message(0, 1, 2, 3))...)
		default:
			out = append(out, g.field(num, []byte(pick(g, "", "a", "b", "abc", "\xff")))...)
		}
	}
	return out
}

func TestRandomProtobuf(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(3, 4))}
	var m Meta
	accepted := 0
	const n = 30_000
	for range n {
		raw := g.message(2, 1, 1, 1, 2)
		if checkScanProto(t, &m, raw) {
			accepted++
		}
		checkDropped(t, Protobuf, raw)
		if t.Failed() {
			t.Fatalf("for %x", raw)
		}
	}
	if accepted < n/4 || accepted > n*9/10 {
		t.Errorf("%d of %d are accepted: the mix shows little", accepted, n)
	}
}
