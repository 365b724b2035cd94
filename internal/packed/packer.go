package packed

import (
	"hash/maphash"
	"weak"

	"github.com/klauspost/compress/s2"
)

// Packer packs the objects of one source. One goroutine uses it at a time. The zero
// value is ready for use.
//
// Objects are nearly equal to some other object, and each holds what distinguishes
// it from such a one, its parent. For objects with an owner, that is a sibling; for
// those without, the base, which is made of several objects, or else one of the same
// name in another namespace, like the root certificates that each namespace has.
// Siblings and namesakes are packed against the base themselves; no chain is longer
// than that. A parent lives as long as anything is packed against it, whether it is
// in a store or not.
type Packer struct {
	arena arena
	base  base
	// siblings has, for each owner, the bytes that others of it are packed against,
	// namesakes those for each of the last names that the base did not serve well.
	// The packer does not keep them alive: they go with the last that needs them.
	siblings  map[uint64]leader
	namesakes map[uint64]leader
	purgeAt   int
	scratch   []byte
}

// leader is what others of a group are packed against.
type leader struct {
	bytes weak.Pointer[Bytes]
	in    *mapping // nil if it is in the heap
}

func leaderOf(b *Bytes) leader { return leader{weak.Make(b), b.slab.mapping} }

// Likeness is what an object is probably like others in.
type Likeness struct {
	Name, Owner []byte // Owner is the uid of the controlling owner, if there is one
}

const (
	// worthPacking is the size below which packing gains nothing.
	worthPacking = 96
	// goodGain: packed to less than a goodGain-th, an object keeps its parent.
	goodGain = 6
	// mostNamesakes bounds how many names are remembered, at 40 bytes each.
	mostNamesakes = 1024
	// largestScratch is how much scratch memory is kept from one object to the next.
	largestScratch = 256 << 10
)

var groupSeed = maphash.MakeSeed()

// Pack fills b with raw, packed as well as possible, outside the heap.
func (p *Packer) Pack(b *Bytes, l Likeness, raw []byte) {
	how, parent, held, led := p.pack(l, raw)
	b.how, b.parent, b.size, b.rawLen = how, parent, uint32(len(held)), uint32(len(raw))
	b.slab, b.at = p.arena.put(held)
	p.lead(led, b)
}

// PackYoung fills b with raw, packed as well as possible, in the heap.
func (p *Packer) PackYoung(b *Bytes, l Likeness, raw []byte) {
	how, parent, held, led := p.pack(l, raw)
	b.how, b.parent, b.size, b.rawLen = how, parent, uint32(len(held)), uint32(len(raw))
	b.slab, b.at = heapSlab(held), 0
	p.lead(led, b)
}

// Settle fills b with the same bytes as young has, which are packed, outside the
// heap.
func (p *Packer) Settle(b, young *Bytes) {
	b.how, b.parent, b.size, b.rawLen = young.how, young.parent, young.size, young.rawLen
	b.slab, b.at = p.arena.put(young.slab.mem[young.at : young.at+young.size])
}

// IsPacked reports whether packing would gain nothing.
func (b *Bytes) IsPacked() bool { return b.how != plain || b.rawLen < worthPacking }

// leading says for which group an object becomes the one that others are packed
// against.
type leading struct {
	group        uint64
	owned, leads bool
}

// pack packs raw. The result is valid until the next call.
func (p *Packer) pack(l Likeness, raw []byte) (packing, *Bytes, []byte, leading) {
	if cap(p.scratch) > largestScratch {
		p.scratch = nil
	}
	if len(raw) < worthPacking {
		return plain, nil, raw, leading{}
	}
	if len(raw) > s2.MaxDictSize {
		// A dictionary is no longer than that, so it would help with a part only.
		p.scratch = s2.Encode(p.scratch[:cap(p.scratch)], raw)
		how, _, held := smaller(alone, nil, p.scratch, raw)
		return how, nil, held, leading{}
	}
	group, like := maphash.Bytes(groupSeed, l.Name), p.namesakes
	owned := len(l.Owner) > 0
	if owned {
		group, like = maphash.Bytes(groupSeed, l.Owner), p.siblings
	}
	if parent := like[group].bytes.Value(); parent != nil {
		if packed := p.against(parent, raw); content(packed, raw) {
			return withParent, parent, packed, leading{}
		}
	}
	// No parent, or none that is like it any more: it may become one.
	how, parent, held := p.withBase(raw)
	return how, parent, held, leading{group: group, owned: owned, leads: owned || !content(held, raw)}
}

// content reports whether an object packs well with its parent.
func content(packed, raw []byte) bool { return len(packed)*goodGain < len(raw) }

// withBase packs an object against the base, or alone while there is none.
func (p *Packer) withBase(raw []byte) (packing, *Bytes, []byte) {
	if p.base.bytes == nil {
		p.base.learn(raw)
		p.scratch = s2.Encode(p.scratch[:cap(p.scratch)], raw)
		return smaller(alone, nil, p.scratch, raw)
	}
	parent := p.base.bytes
	packed := p.against(parent, raw)
	p.base.served(len(raw), len(packed))
	return smaller(withParent, parent, packed, raw)
}

// smaller prefers bytes as they came to packed ones that are hardly smaller: random
// bytes gain nothing, and would have to be unpacked each time.
func smaller(how packing, parent *Bytes, packed, raw []byte) (packing, *Bytes, []byte) {
	if len(packed) > len(raw)-len(raw)/16 {
		return plain, nil, raw
	}
	return how, parent, packed
}

// against packs raw with a parent's bytes as dictionary. The result is valid until
// the next call.
func (p *Packer) against(parent *Bytes, raw []byte) []byte {
	if n := s2.MaxEncodedLen(len(raw)); cap(p.scratch) < n {
		p.scratch = make([]byte, n)
	}
	return dictionaryOf(parent).Encode(p.scratch[:cap(p.scratch)], raw)
}

// lead makes b the one that others of its group are packed against.
func (p *Packer) lead(l leading, b *Bytes) {
	switch {
	case !l.leads:
	case l.owned:
		p.leadSiblings(l.group, b)
	default:
		p.leadNamesakes(l.group, b)
	}
}

func (p *Packer) leadSiblings(owner uint64, b *Bytes) {
	if p.siblings == nil {
		p.siblings = map[uint64]leader{}
	}
	p.siblings[owner] = leaderOf(b)
	if len(p.siblings) < max(p.purgeAt, 1024) {
		return
	}
	for g, l := range p.siblings {
		if l.bytes.Value() == nil {
			delete(p.siblings, g)
		}
	}
	p.purgeAt = 2 * len(p.siblings)
}

// leadNamesakes makes b a parent only if the name has come before: most never come
// again.
func (p *Packer) leadNamesakes(name uint64, b *Bytes) {
	if p.namesakes == nil {
		p.namesakes = map[uint64]leader{}
	}
	var lead leader
	if _, before := p.namesakes[name]; before {
		lead = leaderOf(b)
	} else if len(p.namesakes) >= mostNamesakes {
		clear(p.namesakes)
	}
	p.namesakes[name] = lead
}

// Memory returns what the packer has outside the heap. Any goroutine may ask.
func (p *Packer) Memory() Memory {
	if a := p.arena.shared.Load(); a != nil {
		return a.memory()
	}
	return Memory{}
}
