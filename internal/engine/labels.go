package engine

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/kinform/kinform/wire"
)

// Labels are the labels of an object, as its record has them. It satisfies
// k8s.io/apimachinery/pkg/labels.Labels, so selectors match it as it is. Compare two
// of them by their content, not with ==.
type Labels struct{ set *labelSet }

// labelSet is a set of labels. Records with equal ones share it, and those with
// equal keys at least the keys.
type labelSet struct {
	keys   *labelKeys
	values string // for each key, the length of the value and the value
}

// labelKeys are the keys of label sets, in their order.
type labelKeys struct {
	packed string // each with its length before it
	all    []string
}

var noLabels = &labelSet{keys: &labelKeys{}}

// All yields the labels in the order of their keys.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if l.set == nil {
			return
		}
		rest := l.set.values
		for _, key := range l.set.keys.all {
			var value string
			value, rest = cutString(rest)
			if !yield(key, value) {
				return
			}
		}
	}
}

// Matching yields the records whose labels match. Those that share their labels are
// mostly side by side, and asked for once.
func Matching(records iter.Seq[*Record], match func(Labels) bool) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		var last *labelSet
		matches := false
		for r := range records {
			if r.labels != last || last == nil {
				last, matches = r.labels, match(r.Labels())
			}
			if matches && !yield(r) {
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

// Has reports whether the object has a label.
func (l Labels) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get returns the value of a label, or "".
func (l Labels) Get(key string) string {
	v, _ := l.Lookup(key)
	return v
}

// Map returns a copy of the labels.
func (l Labels) Map() map[string]string {
	if l.set == nil || len(l.set.keys.all) == 0 {
		return nil
	}
	m := make(map[string]string, len(l.set.keys.all))
	for k, v := range l.All() {
		m[k] = v
	}
	return m
}

// mostLabelSets bounds how many sets are known at once. Objects with the same
// labels come close to each other in a list, and a new state mostly has those of
// the state before, so that few are enough.
const mostLabelSets = 4096

// labelPacker packs label sets. One goroutine uses it.
type labelPacker struct {
	keys, values []byte // scratch

	// known are the sets that objects with equal labels share, by their keys and
	// then by their values; nil: nothing is shared.
	known map[string]knownLabels
	sets  int // in known
}

type knownLabels struct {
	keys *labelKeys
	sets map[string]*labelSet
}

// set returns the set of the labels: that of the state before, if it has the same.
func (p *labelPacker) set(labels []wire.Label, before *Record) *labelSet {
	if len(labels) == 0 {
		return noLabels
	}
	p.pack(labels)
	if before != nil && before.labels.values == string(p.values) && before.labels.keys.packed == string(p.keys) {
		return before.labels
	}
	k, ok := p.known[string(p.keys)]
	if made := k.sets[string(p.values)]; made != nil {
		return made
	}
	if !ok {
		k = knownLabels{newLabelKeys(string(p.keys)), map[string]*labelSet{}}
	}
	made := &labelSet{k.keys, string(p.values)}
	if p.known != nil {
		p.know(k, made)
	}
	return made
}

func (p *labelPacker) know(k knownLabels, made *labelSet) {
	if p.sets++; p.sets > mostLabelSets {
		clear(p.known)
		clear(k.sets)
		p.sets = 1
	}
	k.sets[made.values] = made
	p.known[k.keys.packed] = k
}

func newLabelKeys(packed string) *labelKeys {
	k := &labelKeys{packed: packed}
	for rest := packed; rest != ""; {
		var key string
		key, rest = cutString(rest)
		k.all = append(k.all, key)
	}
	return k
}

// pack packs the labels into keys and values.
func (p *labelPacker) pack(labels []wire.Label) {
	// Servers write labels in the order of their keys; a sort is for others.
	byKey := func(a, b wire.Label) int { return slices.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(labels, byKey) {
		slices.SortStableFunc(labels, byKey)
	}
	p.keys, p.values = p.keys[:0], p.values[:0]
	for i, l := range labels {
		if i+1 < len(labels) && slices.Equal(l.Key, labels[i+1].Key) {
			continue // the last of equal keys wins
		}
		p.keys = appendString(p.keys, l.Key)
		p.values = appendString(p.values, l.Value)
	}
}

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
