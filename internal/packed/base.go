package packed

import "github.com/klauspost/compress/s2"

// base is what objects are packed against that have nothing better: pieces of the
// first objects, one after the other. It is learned again when it helps much less
// than it did at first, as the objects have changed. Bytes that were packed against
// the old one keep it alive, so each is tried for twice as long as the one before.
type base struct {
	bytes   *Bytes // nil while it is learned
	learned []byte

	trial   int   // how many objects show how well it works; 0: shortestTrial
	first   share // how well it worked at first
	present share // how well it works now
}

// share is how much was left of some objects when they were packed: the sum of each
// object's share, so that a large one counts no more than a small one.
type share struct {
	objects int
	left    float64
}

const (
	// baseSize is what the base grows to, baseShare what one object gives to it.
	baseSize  = s2.MaxDictSize
	baseShare = baseSize / 6

	shortestTrial = 256
	longestTrial  = 1 << 20
)

// learn adds to the base, until it is as large as a dictionary may be.
func (b *base) learn(raw []byte) {
	b.learned = append(b.learned, raw[:min(len(raw), baseShare)]...)
	if len(b.learned)+baseShare < baseSize {
		return
	}
	b.bytes = new(Bytes)
	b.bytes.Hold(b.learned)
	b.bytes.how = pieces
	b.learned = nil
}

// served counts an object that was packed against the base.
func (b *base) served(raw, packed int) {
	b.present.objects++
	b.present.left += float64(packed) / float64(raw)
	if b.present.objects < max(b.trial, shortestTrial) {
		return
	}
	if b.first.objects == 0 {
		b.first = b.present
	} else if b.present.left > 1.5*b.first.left { // of as many objects
		*b = base{trial: min(2*max(b.trial, shortestTrial), longestTrial)}
	}
	b.present = share{}
}
