package packed

import (
	"runtime"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/kinform/kinform/wire"
)

// packing says how bytes are held.
type packing uint8

const (
	plain      packing = iota // as they came
	alone                     // s2
	withParent                // s2, with the parent's bytes as dictionary
	pieces                    // as they are: the base, which is no object
)

// Bytes are the encoded bytes of one state of an object. They never change once a
// Packer or Hold has filled them. The zero value holds nothing.
type Bytes struct {
	slab   *slab  // nil: nothing is held
	parent *Bytes // what they are packed against, if anything
	at     uint32
	size   uint32 // packed
	rawLen uint32 // as they came

	how packing
	// Format is the encoding of the object.
	Format wire.Format
	// Sum is for whoever compares objects; nothing here looks at it.
	Sum uint16
}

// Hold makes b hold a copy of raw in the heap, as it is.
func (b *Bytes) Hold(raw []byte) {
	n := uint32(len(raw))
	b.how, b.parent, b.at, b.size, b.rawLen = plain, nil, 0, n, n
	b.slab = heapSlab(raw)
}

// None reports whether b holds nothing.
func (b *Bytes) None() bool { return b.slab == nil }

// Young reports whether the bytes are in the heap.
func (b *Bytes) Young() bool { return b.slab != nil && b.slab.mapping == nil }

// Len is the number of bytes as they came, Held that of the bytes that they are
// held in.
func (b *Bytes) Len() int  { return int(b.rawLen) }
func (b *Bytes) Held() int { return int(b.size) }

// Plain returns the bytes if they are held as they came, and nil if they are
// packed. They must not be changed, and not be read any more once b is not
// reachable.
func (b *Bytes) Plain() []byte {
	if b.slab == nil || b.how != plain {
		return nil
	}
	return b.slab.mem[b.at : b.at+b.size : b.at+b.size]
}

// Sibling returns the bytes of the object that b is packed against; nil if it is packed
// against none.
func (b *Bytes) Sibling() *Bytes {
	if b.parent == nil || b.parent.how == pieces {
		return nil
	}
	return b.parent
}

// Copy returns the same bytes, held as they are in the heap.
func (b *Bytes) Copy() Bytes {
	c := *b
	c.slab, c.at = heapSlab(b.slab.mem[b.at:b.at+b.size]), 0
	runtime.KeepAlive(b) // and with it the slab
	return c
}

// Append appends the bytes as they came to dst, whose free capacity is used. The
// caller keeps b reachable meanwhile.
func (b *Bytes) Append(dst []byte) ([]byte, error) {
	if b.slab == nil {
		return dst, nil
	}
	at := len(dst)
	dst = slices.Grow(dst, int(b.rawLen))[:at+int(b.rawLen)]
	into := dst[at:]
	held := b.slab.mem[b.at : b.at+b.size]
	var err error
	switch b.how {
	case plain, pieces:
		copy(into, held)
	case alone:
		_, err = s2.Decode(into, held)
	case withParent:
		_, err = dictionaryOf(b.parent).Decode(into, held)
	}
	return dst, err
}

// Enter counts the bytes as part of a store from now on; Leave ends that. One
// goroutine at a time may do that for the bytes of one store.
func (b *Bytes) Enter(y *Youngs) { b.count(y, int64(b.size)) }

// Leave counts the bytes as part of the store no more.
func (b *Bytes) Leave(y *Youngs) { b.count(y, -int64(b.size)) }

func (b *Bytes) count(y *Youngs, n int64) {
	switch {
	case b.slab == nil:
	case b.slab.mapping == nil:
		y.add(n)
	default:
		m := b.slab.mapping
		m.live.Add(n)
		m.account.live.Add(n)
		process.live.Add(n)
	}
}
