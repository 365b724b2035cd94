package engine

import "github.com/klauspost/compress/s2"

// base is what objects are packed against that have nothing better: pieces of the
// first objects, one after the other. It is learned anew when it serves much worse
// than it did at first: the objects have changed their looks. Records that were
// packed against the old one keep it.
type base struct {
	record  *Record // nil while it is learned
	learned []byte

	first   share // how well it served at first
	present share // how well it serves now
}

// share is how much of the bytes of some objects was left when they were packed.
type share struct{ objects, raw, packed int }

const (
	// baseSize is what the base grows to, baseShare what one object gives to it.
	baseSize  = s2.MaxDictSize
	baseShare = baseSize / 6
	// baseTrial is how many objects tell how well the base serves.
	baseTrial = 256
)

// learn adds to the base, until it is as large as a dictionary may be. It has a slab
// of its own: it lives longer than what else would be in it.
func (b *base) learn(raw []byte) {
	b.learned = append(b.learned, raw[:min(len(raw), baseShare)]...)
	size := len(b.learned)
	if size+baseShare < baseSize {
		return
	}
	own := newSlab(size)
	own.used = copy(own.mem, b.learned)
	b.record = &Record{packing: plain, slab: own, size: uint32(size), rawLen: uint32(size)}
	b.learned = nil
}

// served counts an object that was packed against the base.
func (b *base) served(raw, packed int) {
	b.present.objects++
	b.present.raw += raw
	b.present.packed += packed
	if b.present.objects < baseTrial {
		return
	}
	if b.first.objects == 0 {
		b.first = b.present
	} else if b.present.muchWorse(b.first) {
		*b = base{}
	}
	b.present = share{}
}

// muchWorse: half as much again is left.
func (s share) muchWorse(than share) bool {
	return 2*s.packed*than.raw > 3*than.packed*s.raw
}
