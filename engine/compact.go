package engine

import "github.com/kinform/kinform/wire"

// Updates leave holes in slabs. When slabs weigh twice what lives in them, the
// records of the emptiest are packed anew into others, and so are those that are
// packed against one in them, in the store or not.

const (
	// compactFloor is the weight below which holes are let be.
	compactFloor = 4 << 20
	// compactAtMost bounds how many records are packed anew at a time.
	compactAtMost = 4096
)

// compact moves records out of sparse slabs, if there are enough of them. It runs
// in the goroutine of the ingester, between two batches.
func (in *ingester) compact() {
	a := &in.packer.arena
	if a.grown < compactFloor {
		return
	}
	a.grown = 0
	slabs, held := a.held()
	c := in.collection
	c.write.Lock()
	defer c.write.Unlock()
	var live int64
	sparse := map[*slab]bool{}
	for _, s := range slabs {
		live += s.live
		if s != a.current && s.live*2 < int64(len(s.mem)) {
			sparse[s] = true
		}
	}
	if held < 2*live+compactFloor {
		return
	}
	in.packer.forget(sparse)
	var moved []*Record
	for r := range c.table.snapshot().All() {
		if r.slab != nil && (sparse[r.slab] || r.parent != nil && sparse[r.parent.slab]) {
			if moved = append(moved, r); len(moved) == compactAtMost {
				break
			}
		}
	}
	in.repack(moved)
}

// repack puts records of the same states, packed as new ones would be, into the
// store. The caller holds the collection's write lock.
func (in *ingester) repack(records []*Record) {
	c := in.collection
	anew := make([]*Record, len(records))
	for i, r := range records {
		anew[i] = in.packAnew(r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range anew {
		c.resident.move(records[i], r)
		c.table.swap(r)
	}
}

// packAnew returns a record of the same state, packed as a new one would be.
func (in *ingester) packAnew(r *Record) *Record {
	in.scratch = r.AppendBytes(in.scratch[:0])
	n := &Record{
		key: r.key, uid: r.uid, number: r.number, labels: r.labels,
		nsLen: r.nsLen, format: r.format, deleting: r.deleting, oddUID: r.oddUID,
	}
	if err := in.meta.Scan(r.format, in.scratch); err != nil {
		in.meta = wire.Meta{} // it was scanned before; without its owner it packs less well
	}
	in.packer.pack(n, &in.meta, in.scratch)
	return n
}
