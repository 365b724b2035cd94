package engine

import (
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/wire"
)

// compactAtOnce bounds how many bytes are packed again between two batches.
const compactAtOnce = 4 << 20

// compact packs records again that are in slabs full of holes, a few at a time. It
// runs in the goroutine of the ingester, between two batches.
func (in *ingester) compact() {
	in.adopt()
	sparse := in.packer.Sparse()
	if in.foreign != nil {
		sparse = in.foreign.packer.Whole()
	}
	if sparse == nil {
		in.compactAt = 0
		return
	}
	c := in.collection
	c.mu.RLock()
	all := c.table.snapshot().Pages()
	c.mu.RUnlock()
	size, from := 0, in.compactAt
	for ; in.compactAt < len(all); in.compactAt++ {
		if size > compactAtOnce {
			in.packer.Again()
			return
		}
		var moved []*Record
		for _, r := range all[in.compactAt].Values() {
			if r != nil && sparse.Has(&r.bytes) {
				moved = append(moved, r)
				size += r.Size()
			}
		}
		in.repack(moved)
	}
	in.compactAt = 0
	switch { // from the beginning: slabs, and the table, may be others
	case from > 0:
		in.packer.Again()
	case in.foreign != nil:
		in.collection.orphans.settled(in.foreign)
		in.foreign = nil
	}
}

// repackAtOnce bounds what is packed before the writers' lock is taken.
const repackAtOnce = 1 << 20

// repack puts records of the same states, packed outside the heap, into the store.
// It packs without a lock; what has changed meanwhile is left as it is.
func (in *ingester) repack(records []*Record) {
	for len(records) > 0 {
		var again []*Record
		for size := 0; len(again) < len(records) && size < repackAtOnce; {
			r := records[len(again)]
			again = append(again, in.packAgain(r))
			size += r.Size()
		}
		in.collection.swap(records[:len(again)], again)
		records = records[len(again):]
	}
}

// swap replaces records in the store by others of the same states.
func (c *Collection) swap(old, again []*Record) {
	c.write.Lock()
	defer c.write.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range again {
		if c.table.get(r.key) == old[i] {
			c.resident.move(old[i], r)
			c.table.swap(r)
		}
	}
}

// packAgain returns a record of the same state, packed as a new one would be.
func (in *ingester) packAgain(r *Record) *Record {
	n := &Record{
		key: r.key, uid: r.uid, number: r.number, labels: r.labels,
		nsLen: r.nsLen, marks: r.marks,
	}
	n.bytes.Format = r.Format()
	n.setSum(r.sum())
	if r.bytes.Young() && r.bytes.IsPacked() {
		in.packer.Settle(&n.bytes, &r.bytes)
		return n
	}
	in.scratch = r.AppendBytes(in.scratch[:0])
	if err := in.meta.Scan(r.Format(), in.scratch); err != nil {
		in.meta = wire.Meta{} // it was scanned before; without its owner it packs less well
	}
	in.packer.Pack(&n.bytes, in.likeness(), in.scratch)
	return n
}

// likeness says what the object that was scanned last is like.
func (in *ingester) likeness() packed.Likeness {
	return packed.Likeness{Name: in.meta.Name, Owner: in.meta.Owner.UID}
}
