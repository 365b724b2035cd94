package engine

import (
	"iter"

	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/pages"
	"github.com/kinform/kinform/internal/slots"
)

type slot = slots.Slot

// table holds the records and their indexes. It has no locks: Collection decides who
// may write. Snapshots of the records are free.
type table struct {
	keys    slots.Keys
	records *pages.Pages[*Record]
	bytes   int64 // as the server sent them
	packed  int64 // as they are held
	decoded int64 // what they would weigh decoded
	youngs  *packed.Youngs
	spaces  *slots.Index   // by namespace
	indexes []*slots.Index // in the order of Collection.indexers
	moves   int            // how often records were given other slots
}

func newTable(indexes int) *table {
	t := &table{records: &pages.Pages[*Record]{}, youngs: new(packed.Youngs), spaces: slots.NewIndex()}
	for range indexes {
		t.indexes = append(t.indexes, slots.NewIndex())
	}
	return t
}

// clone returns a table that can be changed without affecting t. Records and pages
// are shared until they are written.
func (t *table) clone() *table {
	n := &table{
		keys:    t.keys.Clone(),
		records: t.records.Clone(),
		bytes:   t.bytes,
		packed:  t.packed,
		decoded: t.decoded,
		youngs:  t.youngs,
		moves:   t.moves,
		spaces:  t.spaces.Clone(),
	}
	for _, p := range t.indexes {
		n.indexes = append(n.indexes, p.Clone())
	}
	return n
}

func (t *table) len() int { return t.keys.Len() }

// slotOf returns the slot of a key.
func (t *table) slotOf(key string) (slot, bool) {
	return t.keys.Find(slots.Hash(key), func(s slot) bool { return t.at(s).key == key })
}

// get returns the record of a key, or nil.
func (t *table) get(key string) *Record {
	if s, ok := t.slotOf(key); ok {
		return t.at(s)
	}
	return nil
}

// getBytes is get for a key that is not a string yet; it does not allocate.
func (t *table) getBytes(key []byte) *Record {
	s, ok := t.keys.Find(slots.HashBytes(key), func(s slot) bool { return t.at(s).key == string(key) })
	if !ok {
		return nil
	}
	return t.at(s)
}

func (t *table) at(s slot) *Record { return t.records.At(s) }

// put stores a record, with the values under which each index finds it.
func (t *table) put(r *Record, values [][]string) {
	s, ok := t.slotOf(r.key)
	if ok {
		t.leave(t.at(s))
		t.records.Set(s, r)
	} else {
		s = t.records.Add(r)
		t.keys.Add(slots.Hash(r.key), s)
		t.spaces.Set(s, []string{r.Namespace()})
	}
	for i, p := range t.indexes {
		p.Set(s, values[i])
	}
	t.enter(r)
}

// sparse reports whether most places are free, so that rebuilt is worthwhile.
func (t *table) sparse() bool { return t.records.Slots() > 4*t.len()+4*pages.Size }

// rebuilt returns a table with the same records and indexes, and no more room than
// they need.
func (t *table) rebuilt() *table {
	n := newTable(len(t.indexes))
	n.bytes, n.packed, n.decoded, n.youngs = t.bytes, t.packed, t.decoded, t.youngs
	n.moves = t.moves + 1
	n.keys = n.keys.Fit(t.len())
	for r := range t.snapshot().All() {
		old, _ := t.slotOf(r.key)
		s := n.records.Add(r)
		n.keys.Add(slots.Hash(r.key), s)
		n.spaces.Set(s, t.spaces.ValuesOf(old))
		for i, p := range n.indexes {
			p.Set(s, t.indexes[i].ValuesOf(old))
		}
	}
	return n
}

// swap stores another record of the state that is stored.
func (t *table) swap(r *Record) {
	s, _ := t.slotOf(r.key)
	t.leave(t.at(s))
	t.enter(r)
	t.records.Set(s, r)
}

// remove takes a key out and returns its record, or nil.
func (t *table) remove(key string) *Record {
	s, ok := t.slotOf(key)
	if !ok {
		return nil
	}
	old := t.at(s)
	t.keys.Remove(slots.Hash(key), s)
	t.leave(old)
	t.spaces.Set(s, nil)
	for _, p := range t.indexes {
		p.Set(s, nil)
	}
	t.records.Remove(s)
	return old
}

// enter and leave count what a record in the table weighs.
func (t *table) enter(r *Record) {
	t.bytes += int64(r.Size())
	t.packed += int64(r.Packed())
	t.decoded += r.decodedWeight()
	r.bytes.Enter(t.youngs)
}

func (t *table) leave(r *Record) {
	t.bytes -= int64(r.Size())
	t.packed -= int64(r.Packed())
	t.decoded -= r.decodedWeight()
	r.bytes.Leave(t.youngs)
}

// snapshot is a table's records at one moment. It may be taken by readers, as long
// as nobody writes at the same time.
func (t *table) snapshot() pages.Snapshot[*Record] { return t.records.Snapshot() }

// snapshotBy yields the records of a partition; for the writer.
func (t *table) snapshotBy(p *Partition) iter.Seq[*Record] {
	if p.namespace == "" {
		return t.snapshot().All()
	}
	return t.find(t.spaces, p.namespace)
}
