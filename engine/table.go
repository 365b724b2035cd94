package engine

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"
)

// slot is the place of an object in a table. It stays the same for all states
// of the object, so that an update touches an index only where values changed.
type slot = uint32

const pageSize = 256

// page is a run of records, by slot. It is changed in place unless a snapshot
// may hold it.
type page struct {
	epoch   uint64 // the table's epoch when the page was made
	records [pageSize]*Record
}

// table holds the records and their indexes. It knows no locks: Collection
// says who may write.
//
// Snapshots are free: a snapshot takes the slice of pages and raises the epoch;
// the writer copies the slice, and each page it touches, the first time it
// writes after that.
type table struct {
	slots     map[string]slot
	pages     []*page
	rootEpoch uint64 // the epoch when the slice of pages was made
	epoch     atomic.Uint64
	free      []slot
	bytes     int64       // as the server sent them
	packed    int64       // as they are held
	spaces    *postings   // by namespace
	indexes   []*postings // in the order of Collection.indexers
}

func newTable(indexes int) *table {
	t := &table{slots: map[string]slot{}, spaces: newPostings()}
	for range indexes {
		t.indexes = append(t.indexes, newPostings())
	}
	return t
}

// clone returns a table that can be changed without t noticing. Records and
// pages are shared until they are written.
func (t *table) clone() *table {
	epoch := t.epoch.Add(1)
	n := &table{
		slots:  maps.Clone(t.slots),
		pages:  t.pages,
		free:   slices.Clone(t.free),
		bytes:  t.bytes,
		packed: t.packed,
		spaces: t.spaces.clone(),
	}
	n.epoch.Store(epoch)
	for _, p := range t.indexes {
		n.indexes = append(n.indexes, p.clone())
	}
	return n
}

func (t *table) len() int { return len(t.slots) }

// get returns the record of a key, or nil.
func (t *table) get(key string) *Record {
	if s, ok := t.slots[key]; ok {
		return t.at(s)
	}
	return nil
}

// getBytes is get for a key that is not a string yet; it does not allocate.
func (t *table) getBytes(key []byte) *Record {
	if s, ok := t.slots[string(key)]; ok {
		return t.at(s)
	}
	return nil
}

func (t *table) at(s slot) *Record { return t.pages[s/pageSize].records[s%pageSize] }

// put stores a record, with the values under which each index finds it.
func (t *table) put(r *Record, values [][]string) {
	s, ok := t.slots[r.key]
	if ok {
		t.weigh(t.at(s), -1)
	} else {
		s = t.newSlot()
		t.slots[r.key] = s
		t.spaces.set(s, []string{r.Namespace()})
	}
	for i, p := range t.indexes {
		p.set(s, values[i])
	}
	t.weigh(r, 1)
	t.writable(s).records[s%pageSize] = r
}

// swap stores another record of the state that is stored.
func (t *table) swap(r *Record) {
	s := t.slots[r.key]
	t.weigh(t.at(s), -1)
	t.weigh(r, 1)
	t.writable(s).records[s%pageSize] = r
}

// remove takes a key out and returns its record, or nil.
func (t *table) remove(key string) *Record {
	s, ok := t.slots[key]
	if !ok {
		return nil
	}
	old := t.at(s)
	delete(t.slots, key)
	t.weigh(old, -1)
	t.spaces.set(s, nil)
	for _, p := range t.indexes {
		p.set(s, nil)
	}
	t.writable(s).records[s%pageSize] = nil
	t.free = append(t.free, s)
	return old
}

func (t *table) weigh(r *Record, sign int64) {
	t.bytes += sign * int64(r.rawLen)
	t.packed += sign * int64(r.size)
	if r.slab != nil {
		r.slab.live += sign * int64(r.size)
	}
}

func (t *table) newSlot() slot {
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		return s
	}
	// Each slot is either in use or free: the next new one follows them all.
	s := slot(len(t.slots))
	if int(s/pageSize) == len(t.pages) {
		t.ownRoot()
		t.pages = append(t.pages, &page{epoch: t.epoch.Load()})
	}
	return s
}

// writable returns the page of a slot, copied first if a snapshot may hold it.
func (t *table) writable(s slot) *page {
	epoch := t.epoch.Load()
	p := t.pages[s/pageSize]
	if p.epoch != epoch {
		c := *p
		c.epoch = epoch
		p = &c
		t.ownRoot()
		t.pages[s/pageSize] = p
	}
	return p
}

func (t *table) ownRoot() {
	if epoch := t.epoch.Load(); t.rootEpoch != epoch {
		t.pages = slices.Clone(t.pages)
		t.rootEpoch = epoch
	}
}

// snapshot is a table's records at one moment.
type snapshot struct{ pages []*page }

// snapshot may be taken by readers, as long as nobody writes at the same time.
func (t *table) snapshot() snapshot {
	t.epoch.Add(1)
	return snapshot{t.pages}
}

func (s snapshot) at(i slot) *Record { return s.pages[i/pageSize].records[i%pageSize] }

func (s snapshot) all() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, p := range s.pages {
			for _, r := range p.records {
				if r != nil && !yield(r) {
					return
				}
			}
		}
	}
}

// snapshotBy yields the records of a partition; for the writer.
func (t *table) snapshotBy(p *Partition) iter.Seq[*Record] {
	if p.namespace == "" {
		return t.snapshot().all()
	}
	return t.find(t.spaces, p.namespace)
}
