package slots

import (
	"iter"
	"slices"
)

// Set is a sorted set of slots, in chunks, so that a change moves at most a
// chunk however large the set is.
type Set struct {
	chunks [][]Slot
	n      int
}

// Len is the number of slots.
func (s *Set) Len() int { return s.n }

const chunkSize = 1024

func (s *Set) chunkOf(x Slot) int {
	i, found := slices.BinarySearchFunc(s.chunks, x, func(c []Slot, x Slot) int {
		return int(int64(c[0]) - int64(x))
	})
	if !found && i > 0 {
		i--
	}
	return i
}

func (s *Set) add(x Slot) {
	if len(s.chunks) == 0 {
		s.chunks = [][]Slot{{x}}
		s.n = 1
		return
	}
	i := s.chunkOf(x)
	at, found := slices.BinarySearch(s.chunks[i], x)
	if found {
		return
	}
	s.n++
	if len(s.chunks[i]) < chunkSize {
		s.chunks[i] = slices.Insert(s.chunks[i], at, x)
		return
	}
	if at == chunkSize && i == len(s.chunks)-1 {
		s.chunks = append(s.chunks, []Slot{x}) // rising slots fill chunks whole
		return
	}
	half := slices.Clone(s.chunks[i][chunkSize/2:])
	s.chunks[i] = s.chunks[i][:chunkSize/2]
	s.chunks = slices.Insert(s.chunks, i+1, half)
	if at > chunkSize/2 {
		i, at = i+1, at-chunkSize/2
	}
	s.chunks[i] = slices.Insert(s.chunks[i], at, x)
}

// Has reports whether a slot is in the set.
func (s *Set) Has(x Slot) bool {
	if len(s.chunks) == 0 {
		return false
	}
	_, found := slices.BinarySearch(s.chunks[s.chunkOf(x)], x)
	return found
}

func (s *Set) remove(x Slot) {
	if len(s.chunks) == 0 {
		return
	}
	i := s.chunkOf(x)
	at, found := slices.BinarySearch(s.chunks[i], x)
	if !found {
		return
	}
	s.n--
	s.chunks[i] = slices.Delete(s.chunks[i], at, at+1)
	if len(s.chunks[i]) == 0 {
		s.chunks = slices.Delete(s.chunks, i, i+1)
	}
}

// Clone returns a copy.
func (s *Set) Clone() Set {
	c := Set{chunks: make([][]Slot, len(s.chunks)), n: s.n}
	for i := range s.chunks {
		c.chunks[i] = slices.Clone(s.chunks[i])
	}
	return c
}

// All yields the slots, in order.
func (s *Set) All() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for _, c := range s.chunks {
			for _, x := range c {
				if !yield(x) {
					return
				}
			}
		}
	}
}
