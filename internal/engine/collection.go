package engine

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/pages"
	"github.com/kinform/kinform/internal/slots"
)

// Collection is the store: the newest record of each object, the indexes over
// them, and the subscribers' queues.
//
// Two locks. write admits one writer at a time, joining and leaving subscribers
// included; its holder may read everything without mu. mu guards the
// moment of change against readers; the writer holds it only while it changes
// something in place, never while it scans, decodes, indexes or builds a
// replacement.
type Collection struct {
	write    sync.Mutex
	indexers []Indexer
	subs     []*Subscription     // replaced, never changed; joined has the same
	waiting  map[*Partition]bool // partitions whose first list has not come yet
	restored map[*Partition]bool // of those, what came from disk and nobody was told of
	live     *serving            // nil while nobody serves the subscribers
	scratch  indexing
	orphans  orphans
	joined   atomic.Pointer[[]*Subscription] // for those who do not wait for a writer
	tallies  []*tally                        // of those who compare the store with a list

	mu     sync.RWMutex
	table  *table
	unread map[*Partition]bool // partitions that have nothing to read yet
	past

	synced   chan struct{}
	readable chan struct{}
	youngs   *packed.Youngs
	decoding decodeLocks
	altering altering
	resident residency
	log      Log
	observer atomic.Pointer[Observer]
	measured measured

	rejected rejects
	kind     atomic.Pointer[Kinds]
}

// Indexer computes the values under which a record is found. Values is called for one
// record at a time, and may use its result's memory again.
type Indexer struct {
	Name   string
	Values func(*Record) ([]string, error)
}

// Options of a Collection. The zero value works.
type Options struct {
	// Residency says for how long objects stay decoded. Default: Automatic.
	Residency Residency
	// Log gets what is to be logged; nil: nothing is logged.
	Log Log
	// Observer is called when something happens that is worth measuring; nil: nothing
	// is measured.
	Observer Observer
}

// Kinds is what a server calls the objects that it lists.
type Kinds struct{ APIVersion, Kind string }

// Kinds returns what the server called the objects in its last list; zero before
// the first. Most encodings do not repeat it in each object.
func (c *Collection) Kinds() Kinds {
	if k := c.kind.Load(); k != nil {
		return *k
	}
	return Kinds{}
}

// ErrIndexExists says that a name is taken by another index.
var ErrIndexExists = errors.New("an index of that name exists")

// NewCollection returns an empty collection of the given partitions: namespaces,
// or "" for all.
func NewCollection(o Options, namespaces ...string) (*Collection, []*Partition) {
	c := &Collection{
		table:   newTable(0),
		synced:  make(chan struct{}),
		waiting: map[*Partition]bool{},
		unread:  map[*Partition]bool{},
		log:     o.Log,

		readable: make(chan struct{}),
	}
	c.Observe(o.Observer)
	c.resident.mode, c.resident.records = o.Residency, c.All
	c.resident.templates.weight = new(atomic.Int64)
	c.youngs = c.table.youngs
	runtime.AddCleanup(c, (*packed.Youngs).Close, c.youngs)
	var parts []*Partition
	for _, ns := range namespaces {
		p := newPartition(ns)
		c.waiting[p], c.unread[p] = true, true
		parts = append(parts, p)
	}
	if len(parts) == 0 { // there is nothing to wait for
		close(c.synced)
		close(c.readable)
	}
	return c, parts
}

// Synced is closed once every partition has had its first list. It is another one when
// partitions have come after that.
func (c *Collection) Synced() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.synced
}

// HasSynced reports whether Synced is closed.
func (c *Collection) HasSynced() bool {
	select {
	case <-c.Synced():
		return true
	default:
		return false
	}
}

// AddIndex adds an index over present and future objects. An object that
// the function fails for is reported, and not found in this index.
func (c *Collection) AddIndex(ix Indexer) error { return c.AddIndexes(ix) }

// AddIndexes adds several indexes, or none if a name is taken. The objects are gone over
// once, so that each is decoded once for all functions.
func (c *Collection) AddIndexes(added ...Indexer) error {
	c.write.Lock()
	defer c.write.Unlock()
	indexes := make([]*slots.Index, len(added))
	for i, ix := range added {
		same := func(o Indexer) bool { return o.Name == ix.Name }
		if slices.ContainsFunc(c.indexers, same) || slices.ContainsFunc(added[:i], same) {
			return fmt.Errorf("index %q: %w", ix.Name, ErrIndexExists)
		}
		indexes[i] = slots.NewIndex()
	}
	for r := range c.table.snapshot().All() {
		s, _ := c.table.slotOf(r.key)
		for i, ix := range added {
			values, err := indexContained(ix, r)
			if err != nil {
				c.reject(r.key, err)
			}
			indexes[i].Set(s, c.scratch.keep(values))
			c.scratch.texts = c.scratch.texts[:0]
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexers = append(slices.Clip(c.indexers), added...)
	c.table.indexes = append(c.table.indexes, indexes...)
	return nil
}

// Get returns the record of a key, or nil.
func (c *Collection) Get(key string) *Record {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.get(key)
}

// getBytes is Get for a key that is not a string yet.
func (c *Collection) getBytes(key []byte) *Record {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.getBytes(key)
}

// Len is the number of objects.
func (c *Collection) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.len()
}

// Weight is what the records' bytes weigh together: as the server sent them, and
// as they are held.
func (c *Collection) Weight() (sent, packed int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.bytes, c.table.packed
}

// All yields every record as of the moment of the call: no later change shows,
// and none has to wait.
func (c *Collection) All() iter.Seq[*Record] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.snapshot().All()
}

// Namespace yields the records of a namespace as of the moment of the call.
func (c *Collection) Namespace(ns string) iter.Seq[*Record] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.find(c.table.spaces, ns)
}

// ByIndex yields the records found under a value as of the moment of the call.
// It yields nothing for an index that does not exist.
func (c *Collection) ByIndex(name, value string) iter.Seq[*Record] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if i := c.indexLocked(name); i >= 0 {
		return c.table.find(c.table.indexes[i], value)
	}
	return func(func(*Record) bool) {}
}

// Has reports whether an index has a record under a value. It is not known of a record
// that is not in the store, nor of an index that does not exist.
func (c *Collection) Has(r *Record, index, value string) (has, known bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i := c.indexLocked(index)
	s, there := c.table.slotOf(r.key)
	if i < 0 || !there || c.table.at(s) != r {
		return false, false
	}
	set := c.table.indexes[i].Find(value)
	return set != nil && set.Has(s), true
}

// indexedLocked returns the slots that an index has under a value, or nil.
func (c *Collection) indexedLocked(name, value string) *slots.Set {
	if i := c.indexLocked(name); i >= 0 {
		return c.table.indexes[i].Find(value)
	}
	return nil
}

// IndexValues returns the values of an index, in no order.
func (c *Collection) IndexValues(name string) []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i := c.indexLocked(name)
	if i < 0 {
		return nil
	}
	return c.table.indexes[i].Values()
}

// Indexers returns the names of the indexes.
func (c *Collection) Indexers() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var names []string
	for _, ix := range c.indexers {
		names = append(names, ix.Name)
	}
	return names
}

func (c *Collection) indexLocked(name string) int {
	return slices.IndexFunc(c.indexers, func(ix Indexer) bool { return ix.Name == name })
}

// find yields what an index has under a value. A few records are picked out at
// once; for many, the slots are copied and read from a snapshot, so that the
// writer does not wait for them.
func (t *table) find(p *slots.Index, value string) iter.Seq[*Record] {
	set := p.Find(value)
	if set == nil {
		return func(func(*Record) bool) {}
	}
	if set.Len() <= pages.Size {
		records := make([]*Record, 0, set.Len())
		for s := range set.All() {
			records = append(records, t.at(s))
		}
		return slices.Values(records)
	}
	all, snap := set.Clone(), t.snapshot()
	return func(yield func(*Record) bool) {
		for s := range all.All() {
			if !yield(snap.At(s)) {
				return
			}
		}
	}
}
