package slots

import (
	"hash/maphash"
	"slices"
)

// Keys finds the slot of a key. The keys are those of the records, so that a
// cell has nothing but the slot and half of the key's hash: a million keys take 11
// to 16 MB in one piece, in which the garbage collector has nothing to look for, and
// that is copied as it is. A Go map takes three times that.
//
// Keys that want the same cell lie one after the other; there are always enough free
// cells for the runs to be short.
type Keys struct {
	cells []cell
	used  int
}

// cell is free if it is zero, else the hash and the slot plus one.
type cell uint64

func cellOf(hash uint32, s Slot) cell { return cell(hash)<<32 | cell(s+1) }

func (c cell) hash() uint32 { return uint32(c >> 32) }
func (c cell) slot() Slot   { return Slot(uint32(c)) - 1 }

var keySeed = maphash.MakeSeed()

// Hash returns the hash of a key.
func Hash(key string) uint32 { return uint32(maphash.String(keySeed, key)) }

// HashBytes returns the hash of a key that is not a string yet.
func HashBytes(key []byte) uint32 { return uint32(maphash.Bytes(keySeed, key)) }

// Len is the number of keys.
func (k *Keys) Len() int { return k.used }

// home is the cell that a hash wants.
func (k *Keys) home(hash uint32) int {
	return int(uint64(hash) * uint64(len(k.cells)) >> 32)
}

func (k *Keys) after(i int) int {
	if i++; i < len(k.cells) {
		return i
	}
	return 0
}

// Find returns the slot of a key with a hash; is says which, if there are several.
func (k *Keys) Find(hash uint32, is func(Slot) bool) (Slot, bool) {
	if len(k.cells) == 0 {
		return 0, false
	}
	for i := k.home(hash); k.cells[i] != 0; i = k.after(i) {
		if c := k.cells[i]; c.hash() == hash && is(c.slot()) {
			return c.slot(), true
		}
	}
	return 0, false
}

// Add notes the slot of a key that is not there.
func (k *Keys) Add(hash uint32, s Slot) {
	if k.used*4 >= len(k.cells)*3 {
		k.resize(k.used * 2)
	}
	k.used++
	k.place(cellOf(hash, s))
}

func (k *Keys) place(c cell) {
	i := k.home(c.hash())
	for k.cells[i] != 0 {
		i = k.after(i)
	}
	k.cells[i] = c
}

// Remove forgets a slot that is there.
func (k *Keys) Remove(hash uint32, s Slot) {
	gone := cellOf(hash, s)
	hole := k.home(hash)
	for k.cells[hole] != gone {
		hole = k.after(hole)
	}
	// Later ones move up, unless they would come before the cell they want.
	for i := k.after(hole); k.cells[i] != 0; i = k.after(i) {
		if k.distance(k.home(k.cells[i].hash()), i) >= k.distance(hole, i) {
			k.cells[hole] = k.cells[i]
			hole = i
		}
	}
	k.cells[hole] = 0
	k.used--
}

// distance is how many steps it is from one cell to another.
func (k *Keys) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(k.cells)
}

// resize moves all to a table of some size, which must be large enough.
func (k *Keys) resize(size int) {
	old := k.cells
	k.cells = make([]cell, max(16, size))
	for _, c := range old {
		if c != 0 {
			k.place(c)
		}
	}
}

// Clone returns a copy.
func (k *Keys) Clone() Keys {
	return Keys{cells: slices.Clone(k.cells), used: k.used}
}

// Fit returns the table, or a copy of it, with room for more keys and not much more
// than they need. That takes a while in a large one: it is done before the readers'
// lock is taken.
func (k *Keys) Fit(more int) Keys {
	n := k.used + more
	roomy := len(k.cells) > 64 && n*8 < len(k.cells)
	if n*4 < len(k.cells)*3 && !roomy {
		return *k
	}
	c := *k
	c.resize(n * 2)
	return c
}
