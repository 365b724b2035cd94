package apisim

import (
	"github.com/klauspost/compress/s2"
)

// blob is the encoded form of an object, plain or packed against a sibling: an
// object that is nearly the same, such as another pod of one ReplicaSet.
// Packing is for objects that are loaded by the hundred thousand.
type blob struct {
	bytes   []byte
	size    int      // of the plain form
	sibling *s2.Dict // nil if bytes is the plain form
}

func plain(data []byte) blob { return blob{bytes: data, size: len(data)} }

// data returns the encoded object. The result must not be changed.
func (b *blob) data() []byte { return b.dataIn(nil) }

// dataIn is data with a buffer that may be used for the result.
func (b *blob) dataIn(buffer []byte) []byte {
	if b.sibling == nil {
		return b.bytes
	}
	data, err := b.sibling.Decode(buffer[:0:cap(buffer)], b.bytes)
	if err != nil {
		panic(err) // packed by this process, with this sibling
	}
	return data
}

// unpacker reads objects one after the other. What it returned last is no
// longer valid when it is asked again.
type unpacker struct{ buffer []byte }

func (u *unpacker) data(o *object) []byte {
	data := o.dataIn(u.buffer)
	if o.sibling != nil {
		u.buffer = data
	}
	return data
}

// packer packs objects against the first of their group.
type packer struct {
	groups map[string]*group
}

// group is a sibling with the tables that packing needs; objects keep only
// the part that unpacking needs.
type group struct {
	encoder *s2.Dict
	decoder *s2.Dict
}

const (
	// maxGroups bounds the memory of the tables, 32 KiB each.
	maxGroups = 1024

	// minPacked is the size below which packing is not worth the effort.
	minPacked = 512
)

// pack packs data against the group's first object, if that makes it less
// than half.
func (p *packer) pack(name string, data []byte) blob {
	if len(data) < minPacked || len(data) > s2.MaxDictSize {
		return plain(data)
	}
	g := p.groups[name]
	if g == nil {
		if len(p.groups) >= maxGroups || p.groups == nil {
			p.groups = map[string]*group{}
		}
		p.groups[name] = &group{encoder: s2.MakeDictManual(data, 0), decoder: s2.MakeDictManual(data, 0)}
		g = p.groups[name]
	}
	if g.encoder == nil || g.decoder == nil {
		return plain(data)
	}
	packed := g.encoder.Encode(nil, data)
	if len(packed) > len(data)/2 {
		delete(p.groups, name)
		return plain(data)
	}
	return blob{bytes: append([]byte(nil), packed...), size: len(data), sibling: g.decoder}
}
