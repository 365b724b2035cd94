package wire

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

func (g generator) items() string {
	if g.IntN(10) == 0 {
		return pick(g, "null", "[null]", "[1]", "{}", "[{},]")
	}
	var items []string
	for range g.IntN(4) {
		items = append(items, g.space()+g.json()+g.space())
	}
	return "[" + strings.Join(items, ",") + g.broken() + "]"
}

func (g generator) jsonList() []byte {
	keys := []string{"apiVersion", "kind", "metadata", "items", "items", "other", "message"}
	return []byte(g.space() + g.object(keys, func(key string) string {
		switch {
		case g.IntN(30) == 0:
			return g.any(2)
		case key == "items":
			return g.items()
		case key == "kind":
			return pick(g, `"PodList"`, `"PodList"`, `"PodList"`, `"Status"`, `"Table"`, "null")
		case key == "metadata":
			return g.object([]string{"resourceVersion", "continue", "remainingItemCount", "selfLink"}, func(key string) string {
				if key == "remainingItemCount" {
					return pick(g, "1", "-5", "null")
				}
				return pick(g, g.str(), g.str(), "null")
			})
		case key == "apiVersion":
			return g.str()
		default:
			return g.any(2)
		}
	}) + g.space() + g.broken())
}

func (g generator) jsonWatch() []byte {
	var out strings.Builder
	for range g.IntN(4) {
		out.WriteString(g.space() + g.object([]string{"type", "type", "object", "object", "x"}, func(key string) string {
			switch {
			case g.IntN(20) == 0:
				return g.any(2)
			case key == "type":
				return pick(g, `"ADDED"`, `"DELETED"`, `"BOOKMAR\u004b"`, "null", `"NEWS"`)
			case key == "object":
				return pick(g, g.json(), g.json(), "null")
			default:
				return g.any(2)
			}
		}))
	}
	return []byte(out.String() + g.space())
}

// protoType is a runtime.TypeMeta.
func (g generator) protoType(kinds ...string) []byte {
	return append(g.field(typeMetaAPIVersion, []byte("v1")), g.field(typeMetaKind, []byte(pick(g, kinds...)))...)
}

// shuffled joins fields, mostly in their order, and some that mean nothing.
func (g generator) shuffled(fields ...[]byte) (out []byte) {
	if g.IntN(10) == 0 {
		g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	for _, f := range fields {
		switch g.IntN(20) {
		case 0: // left out
		case 1:
			out = append(append(out, f...), f...)
		case 2:
			out = append(append(out, f...), g.other(pick[uint64](g, 9, 1<<20))...)
		default:
			out = append(out, f...)
		}
	}
	return out
}

func (g generator) protoList() []byte {
	meta := g.shuffled(g.field(listMetaResourceVersion, []byte("5")), g.field(listMetaContinue, []byte("c")), []byte{listMetaRemaining << 3, 7})
	fields := [][]byte{g.field(listMetadata, meta)}
	for range g.IntN(4) {
		fields = append(fields, g.field(listItems, g.message(2, 1, 2)))
	}
	return append([]byte(envelopePrefix), g.shuffled(
		g.field(unknownTypeMeta, g.protoType("PodList", "PodList", "PodList", "Status", "")),
		g.field(unknownRaw, g.shuffled(fields...)),
		g.field(unknownContentEncoding, nil), g.field(unknownContentType, nil))...)
}

func (g generator) protoWatch() (out []byte) {
	for range g.IntN(4) {
		object := append([]byte(envelopePrefix), g.shuffled(g.field(unknownTypeMeta, g.protoType("Pod")), g.field(unknownRaw, g.message(2, 1, 2)))...)
		event := g.shuffled(g.field(1, []byte(pick(g, "ADDED", "MODIFIED", "NEWS"))), g.field(2, g.shuffled(g.field(1, object))))
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(event))), event...)
	}
	return out
}

func TestRandomStreams(t *testing.T) {
	const n = 5_000
	for name, try := range map[string]func(*testing.T, generator) bool{
		"list/json":      func(t *testing.T, g generator) bool { return checkListBody(t, g.jsonList(), g.IntN(30)) },
		"list/protobuf":  func(t *testing.T, g generator) bool { return checkListBody(t, g.protoList(), g.IntN(30)) },
		"watch/json":     func(t *testing.T, g generator) bool { return checkWatch(t, g.jsonWatch(), g.IntN(30)) > 0 },
		"watch/protobuf": func(t *testing.T, g generator) bool { return checkWatch(t, g.protoWatch(), g.IntN(30)) > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			g, good := generator{rand.New(rand.NewPCG(5, 6))}, 0
			for range n {
				if try(t, g) {
					good++
				}
			}
			if good < n/10 || good > n*95/100 {
				t.Errorf("%d of %d are good: the mix shows little", good, n)
			}
		})
	}
}
