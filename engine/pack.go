package engine

import (
	"hash/maphash"
	"slices"
	"weak"

	"github.com/klauspost/compress/s2"

	"github.com/kinform/kinform/wire"
)

// Objects are nearly equal to some other object, and a record holds what
// distinguishes it from such a one, its parent. For objects with an owner, that is
// a sibling; for those without, the base, which is made of several objects, or else
// one of the same name in another namespace, like the root certificates that each
// has. Siblings and namesakes are packed against the base themselves; no chain is
// longer than that. A parent lives as long as a record is packed against it, whether
// it is in the store or not. docs/packing.md says why.

// packing says how a record's bytes are held.
type packing uint8

const (
	plain      packing = iota // as they came
	alone                     // s2
	withParent                // s2, with the parent's bytes as dictionary
)

const (
	// worthPacking is the size below which packing gains nothing.
	worthPacking = 96
	// goodGain: packed to less than a goodGain-th, an object is content with its
	// parent.
	goodGain = 6
	// mostNamesakes bounds how many names are remembered.
	mostNamesakes = 1024
)

// packer packs the objects of one reflector. Only its goroutine uses it.
type packer struct {
	arena arena
	base  base
	// siblings has, for each owner, the record that others of it are packed
	// against, namesakes one for each of the last names that the base did not
	// serve well. The packer does not keep them: they go with the last record that
	// needs them.
	siblings  map[uint64]weak.Pointer[Record]
	namesakes map[uint64]weak.Pointer[Record]
	purgeAt   int
	scratch   []byte
}

var groupSeed = maphash.MakeSeed()

// pack gives r its bytes, packed as well as it goes.
func (p *packer) pack(r *Record, m *wire.Meta, raw []byte) {
	r.rawLen = uint32(len(raw))
	if len(raw) < worthPacking {
		p.hold(r, plain, nil, raw)
		return
	}
	group, like := maphash.Bytes(groupSeed, m.Name), p.namesakes
	owned := len(m.Owner.UID) > 0
	if owned {
		group, like = maphash.Bytes(groupSeed, m.Owner.UID), p.siblings
	}
	if parent := like[group].Value(); parent != nil {
		if packed := p.against(parent, raw); content(packed, raw) {
			p.hold(r, withParent, parent, packed)
			return
		}
	}
	// No parent, or none that is like it any more: it may become one.
	packed := p.withBase(r, raw)
	switch {
	case owned:
		p.leadSiblings(group, r)
	case !content(packed, raw):
		p.leadNamesakes(group, r)
	}
}

// content tells whether a parent suits an object.
func content(packed, raw []byte) bool { return len(packed)*goodGain < len(raw) }

// withBase packs an object against the base, or alone while there is none.
func (p *packer) withBase(r *Record, raw []byte) []byte {
	if p.base.record == nil {
		p.base.learn(raw)
		p.scratch = s2.Encode(p.scratch[:cap(p.scratch)], raw)
		p.hold(r, alone, nil, p.scratch)
		return p.scratch
	}
	packed := p.against(p.base.record, raw)
	p.hold(r, withParent, p.base.record, packed)
	p.base.served(len(raw), len(packed))
	return packed
}

// against packs raw with a record's bytes as dictionary. The result is valid
// until the next call.
func (p *packer) against(parent *Record, raw []byte) []byte {
	if n := s2.MaxEncodedLen(len(raw)); cap(p.scratch) < n {
		p.scratch = make([]byte, n)
	}
	return recent.of(parent).Encode(p.scratch[:cap(p.scratch)], raw)
}

// leadSiblings makes r the sibling that others of its owner are packed against.
func (p *packer) leadSiblings(owner uint64, r *Record) {
	if p.siblings == nil {
		p.siblings = map[uint64]weak.Pointer[Record]{}
	}
	p.siblings[owner] = weak.Make(r)
	if len(p.siblings) < max(p.purgeAt, 1024) {
		return
	}
	for g, w := range p.siblings {
		if w.Value() == nil {
			delete(p.siblings, g)
		}
	}
	p.purgeAt = 2 * len(p.siblings)
}

// leadNamesakes makes r the one that others of its name are packed against, if the
// name has come before: most never come again.
func (p *packer) leadNamesakes(name uint64, r *Record) {
	if p.namesakes == nil {
		p.namesakes = map[uint64]weak.Pointer[Record]{}
	}
	var leader weak.Pointer[Record]
	if _, before := p.namesakes[name]; before {
		leader = weak.Make(r)
	} else if len(p.namesakes) >= mostNamesakes {
		clear(p.namesakes)
	}
	p.namesakes[name] = leader
}

// forget lets go of the parents in some slabs, so that nothing new is packed against
// them.
func (p *packer) forget(slabs map[*slab]bool) {
	for _, parents := range []map[uint64]weak.Pointer[Record]{p.siblings, p.namesakes} {
		for group, w := range parents {
			if r := w.Value(); r == nil || slabs[r.slab] {
				delete(parents, group)
			}
		}
	}
}

// hold gives a record its packed bytes.
func (p *packer) hold(r *Record, how packing, parent *Record, packed []byte) {
	r.packing, r.parent, r.size = how, parent, uint32(len(packed))
	r.slab, r.at = p.arena.put(packed)
}

// Plain returns the bytes that the server sent, if they are held as they came, and
// nil if they are packed. They must not be changed, and not be looked at any more
// when the record is not reachable.
func (r *Record) Plain() []byte {
	if r.slab == nil || r.packing != plain {
		return nil
	}
	return r.slab.mem[r.at : r.at+r.size : r.at+r.size]
}

// unpack appends a record's bytes to dst, whose free capacity is used.
func (r *Record) unpack(dst []byte) ([]byte, error) {
	at := len(dst)
	dst = slices.Grow(dst, int(r.rawLen))
	into := dst[at : at+int(r.rawLen)]
	if r.slab == nil {
		return dst, nil
	}
	packed := r.slab.mem[r.at : r.at+r.size]
	var err error
	switch r.packing {
	case plain:
		copy(into, packed)
	case alone:
		_, err = s2.Decode(into, packed)
	case withParent:
		_, err = recent.of(r.parent).Decode(into, packed)
	}
	return dst[:at+int(r.rawLen)], err
}
