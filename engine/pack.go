package engine

import (
	"hash/maphash"
	"slices"
	"weak"

	"github.com/klauspost/compress/s2"

	"github.com/kinform/kinform/wire"
)

// Objects are nearly equal to some other object: pods to a sibling of the same
// owner, the root certificates of each namespace to each other. So a record holds
// what distinguishes it from such a one, its parent. Parents are records
// themselves, packed against a base that is learned from the first objects; no
// chain is longer than that. A parent lives as long as a record is packed against
// it, whether it is in the store or not.

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
	// baseSize is what the base grows to, baseShare what one object gives to it.
	baseSize  = s2.MaxDictSize
	baseShare = baseSize / 6
	// goodGain: packed to less than a goodGain-th, an object is content with its
	// parent.
	goodGain = 6
)

// packer packs the objects of one reflector. Only its goroutine uses it.
type packer struct {
	arena    arena
	base     *Record // nil while it is learned
	learning []byte
	// heads are the records that others of a group are packed against. The
	// packer does not keep them: they go with the last record that needs them.
	heads   map[uint64]weak.Pointer[Record]
	purgeAt int
	scratch []byte
}

var groupSeed = maphash.MakeSeed()

// pack gives r its bytes, packed as well as it goes.
func (p *packer) pack(r *Record, m *wire.Meta, raw []byte) {
	r.rawLen = uint32(len(raw))
	if len(raw) < worthPacking {
		p.hold(r, plain, nil, raw)
		return
	}
	groups := groupsOf(m)
	for _, g := range groups {
		head := p.heads[g].Value()
		if head == nil {
			continue
		}
		if packed := p.against(head, raw); len(packed)*goodGain < len(raw) {
			p.hold(r, withParent, head, packed)
			return
		}
	}
	// No parent, or none that is like it any more: it may become one.
	if p.base != nil {
		p.hold(r, withParent, p.base, p.against(p.base, raw))
	} else {
		p.learn(raw)
		p.scratch = s2.Encode(p.scratch[:cap(p.scratch)], raw)
		p.hold(r, alone, nil, p.scratch)
	}
	for _, g := range groups {
		p.lead(g, r)
	}
}

// groupsOf returns the groups in which an object may find its like, best first.
func groupsOf(m *wire.Meta) []uint64 {
	var h maphash.Hash
	h.SetSeed(groupSeed)
	if len(m.Owner.UID) > 0 {
		h.Write(m.Owner.UID)
		return []uint64{h.Sum64()}
	}
	h.Write(m.Name)
	byName := h.Sum64()
	h.Reset()
	h.WriteString("labels")
	for _, l := range m.Labels {
		h.Write(l.Key)
		h.WriteByte(0)
	}
	return []uint64{byName, h.Sum64()}
}

// against packs raw with a record's bytes as dictionary. The result is valid
// until the next call.
func (p *packer) against(parent *Record, raw []byte) []byte {
	if n := s2.MaxEncodedLen(len(raw)); cap(p.scratch) < n {
		p.scratch = make([]byte, n)
	}
	return recent.of(parent).Encode(p.scratch[:cap(p.scratch)], raw)
}

// learn adds to the base, until it is as large as a dictionary may be.
func (p *packer) learn(raw []byte) {
	p.learning = append(p.learning, raw[:min(len(raw), baseShare)]...)
	if len(p.learning)+baseShare < baseSize {
		return
	}
	p.base = &Record{rawLen: uint32(len(p.learning))}
	p.hold(p.base, plain, nil, p.learning)
	p.learning = nil
}

// lead makes r the head of a group.
func (p *packer) lead(group uint64, r *Record) {
	if p.heads == nil {
		p.heads = map[uint64]weak.Pointer[Record]{}
	}
	p.heads[group] = weak.Make(r)
	if len(p.heads) < max(p.purgeAt, 1024) {
		return
	}
	for g, w := range p.heads {
		if w.Value() == nil {
			delete(p.heads, g)
		}
	}
	p.purgeAt = 2 * len(p.heads)
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
