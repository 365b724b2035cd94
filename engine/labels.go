package engine

import (
	"encoding/binary"
	"iter"
	"slices"
	"unique"

	"github.com/kinform/kinform/wire"
)

// Labels is a set of labels in one string, so that objects with equal labels
// share it: for each label, in the order of the keys, the length of the key,
// the key, the length of the value, the value. It satisfies
// k8s.io/apimachinery/pkg/labels.Labels, so selectors match it as it is.
type Labels struct{ packed string }

// All yields the labels in the order of their keys.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := l.packed; rest != ""; {
			var key, value string
			key, rest = cutString(rest)
			value, rest = cutString(rest)
			if !yield(key, value) {
				return
			}
		}
	}
}

// Lookup returns the value of a label and whether it is there.
func (l Labels) Lookup(key string) (string, bool) {
	for k, v := range l.All() {
		if k == key {
			return v, true
		}
	}
	return "", false
}

// Has tells whether a label is there.
func (l Labels) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get returns the value of a label, or "".
func (l Labels) Get(key string) string {
	v, _ := l.Lookup(key)
	return v
}

// Map returns the labels as a map of their own.
func (l Labels) Map() map[string]string {
	if l.packed == "" {
		return nil
	}
	m := map[string]string{}
	for k, v := range l.All() {
		m[k] = v
	}
	return m
}

// labelPacker packs label sets; its scratch memory is reused.
type labelPacker struct{ scratch []byte }

// pack returns the labels packed, valid until the next call.
func (p *labelPacker) pack(labels []wire.Label) []byte {
	// Servers write labels in the order of their keys; a sort is for others.
	byKey := func(a, b wire.Label) int { return slices.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(labels, byKey) {
		slices.SortStableFunc(labels, byKey)
	}
	p.scratch = p.scratch[:0]
	for i, l := range labels {
		if i+1 < len(labels) && slices.Equal(l.Key, labels[i+1].Key) {
			continue // the last of equal keys wins
		}
		p.scratch = appendString(p.scratch, l.Key)
		p.scratch = appendString(p.scratch, l.Value)
	}
	return p.scratch
}

// intern returns the one copy of a packed set. It is released when no record
// uses it any more.
func intern(packed []byte) unique.Handle[string] { return unique.Make(string(packed)) }

func appendString(dst, s []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func cutString(packed string) (s, rest string) {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := packed[0]
		packed = packed[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return packed[:n], packed[n:]
		}
	}
}
