package unmarshal

import (
	"hash/maphash"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// longestShared is the length up to which strings are worth sharing: longer
	// ones are seldom the same.
	longestShared = 128
	// sharedWords is how many are remembered. They are placed by their hash; a new
	// one replaces the one in its place.
	sharedWords      = 1 << 13
	fewWords         = 1 << 10
	sharedQuantities = 1 << 8
	// mostExpected is how many strings of an object are expected in the next one.
	mostExpected = 1 << 10
)

var seed = maphash.MakeSeed()

// words remembers strings that were made, so that the next one that is the same
// need not be made.
type words struct {
	known      []word
	quantities [sharedQuantities]quantity

	// last are the words of the object before, in their order. Objects that follow
	// each other are alike, so most words are found where they are expected.
	last []word
	next int
}

// newWords returns a memory for many words, or for few.
func newWords(many bool) *words {
	if many {
		return &words{known: make([]word, sharedWords)}
	}
	return &words{known: make([]word, fewWords)}
}

type word struct {
	text  string
	boxed any // the text; nil until somebody needs it that way
}

type quantity struct {
	encoded string
	json    bool // encoded is
	value   resource.Quantity
}

// begin says that the strings of another object follow.
func (w *words) begin() { w.next = 0 }

// text returns the string that b holds.
func (w *words) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if w == nil || len(b) > longestShared {
		return string(b)
	}
	return w.find(b).text
}

// boxed returns the string that b holds, as an interface value.
func (w *words) boxed(b []byte) any {
	if w == nil || len(b) > longestShared || len(b) == 0 {
		return string(b)
	}
	found := w.find(b)
	if found.boxed == nil {
		found.boxed = found.text
	}
	return found.boxed
}

func (w *words) find(b []byte) *word {
	i := w.next
	w.next++
	if i < len(w.last) {
		if w.last[i].text == string(b) {
			return &w.last[i]
		}
	} else if len(w.last) < mostExpected {
		w.last = append(w.last, word{})
	} else {
		i = mostExpected - 1
	}
	place := &w.known[maphash.Bytes(seed, b)%uint64(len(w.known))]
	if place.text != string(b) {
		*place = word{text: string(b)}
	}
	w.last[i] = *place
	return &w.last[i]
}

// quantity decodes a quantity, from protobuf or JSON. Those that are plain numbers are
// remembered; larger or finer ones hold a pointer, which two objects should not share.
func (w *words) quantity(b []byte, json bool, into *resource.Quantity) error {
	decode := into.Unmarshal
	if json {
		decode = into.UnmarshalJSON
	}
	if w == nil {
		return decode(b)
	}
	place := &w.quantities[maphash.Bytes(seed, b)%sharedQuantities]
	if place.encoded == string(b) && place.json == json && len(b) > 0 {
		*into = place.value
		return nil
	}
	if err := decode(b); err != nil {
		return err
	}
	if len(b) <= longestShared && isPlain(into) {
		*place = quantity{string(b), json, *into}
	}
	return nil
}

// isPlain reports whether a quantity is a number and holds no pointer.
func isPlain(q *resource.Quantity) bool {
	return reflect.ValueOf(q).Elem().FieldByName("d").FieldByName("Dec").IsNil()
}
