package engine

import (
	"iter"

	"github.com/kinform/kinform/internal/pages"
)

// slot is the place of an object in a table. It stays the same for all states
// of the object, so that an update touches an index only where values changed.
type slot = pages.Slot

// table holds the records and their indexes. It knows no locks: Collection
// says who may write. Snapshots of the records are free.
type table struct {
	keys    keyTable
	records *pages.Pages[*Record]
	bytes   int64       // as the server sent them
	packed  int64       // as they are held
	spaces  *postings   // by namespace
	indexes []*postings // in the order of Collection.indexers
}

func newTable(indexes int) *table {
	t := &table{records: &pages.Pages[*Record]{}, spaces: newPostings()}
	for range indexes {
		t.indexes = append(t.indexes, newPostings())
	}
	return t
}

// clone returns a table that can be changed without t noticing. Records and
// pages are shared until they are written.
func (t *table) clone() *table {
	n := &table{
		keys:    t.keys.clone(),
		records: t.records.Clone(),
		bytes:   t.bytes,
		packed:  t.packed,
		spaces:  t.spaces.clone(),
	}
	for _, p := range t.indexes {
		n.indexes = append(n.indexes, p.clone())
	}
	return n
}

func (t *table) len() int { return t.keys.used }

// slotOf returns the slot of a key.
func (t *table) slotOf(key string) (slot, bool) {
	return t.keys.find(hashOf(key), func(s slot) bool { return t.at(s).key == key })
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
	s, ok := t.keys.find(hashOfBytes(key), func(s slot) bool { return t.at(s).key == string(key) })
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
		t.weigh(t.at(s), -1)
		t.records.Set(s, r)
	} else {
		s = t.records.Add(r)
		t.keys.add(hashOf(r.key), s)
		t.spaces.set(s, []string{r.Namespace()})
	}
	for i, p := range t.indexes {
		p.set(s, values[i])
	}
	t.weigh(r, 1)
}

// swap stores another record of the state that is stored.
func (t *table) swap(r *Record) {
	s, _ := t.slotOf(r.key)
	t.weigh(t.at(s), -1)
	t.weigh(r, 1)
	t.records.Set(s, r)
}

// remove takes a key out and returns its record, or nil.
func (t *table) remove(key string) *Record {
	s, ok := t.slotOf(key)
	if !ok {
		return nil
	}
	old := t.at(s)
	t.keys.remove(hashOf(key), s)
	t.weigh(old, -1)
	t.spaces.set(s, nil)
	for _, p := range t.indexes {
		p.set(s, nil)
	}
	t.records.Remove(s)
	return old
}

func (t *table) weigh(r *Record, sign int64) {
	t.bytes += sign * int64(r.rawLen)
	t.packed += sign * int64(r.size)
	if r.slab != nil {
		r.slab.live += sign * int64(r.size)
	}
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
