package engine

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Change is one step of a batch: a state to store, or the last state of an
// object that is gone.
type Change struct {
	Record *Record
	Gone   bool
}

// indexedChange is a change with the values under which each index finds it.
type indexedChange struct {
	Change
	values [][]string
}

// indexing is the memory in which changes are indexed, reused.
type indexing struct {
	changes []indexedChange
	values  [][]string // of all changes, by index
	texts   []string   // of all values
}

// forget drops what was indexed last: records must not outlive their use.
func (x *indexing) forget() {
	clear(x.changes)
	clear(x.values)
	clear(x.texts)
}

// inPlace is how many changes are made under the readers' lock at once; larger
// sets are built in a copy, which is then swapped in.
const inPlace = 512

// Apply makes the changes in their order: store and indexes, then queues, under one
// writer's lock, so that nothing is delivered before it can be read, and a subscriber
// that joins at the same time misses nothing and gets nothing twice.
func (c *Collection) Apply(batch []Change) {
	c.write.Lock()
	defer c.write.Unlock()
	for len(batch) > 0 {
		n := min(len(batch), inPlace)
		changes := c.indexed(c.table, batch[:n])
		batch = batch[n:]
		deltas := make([]Delta, 0, len(changes))
		keys := c.table.keys.Fit(n)
		c.mu.Lock()
		c.table.keys = keys
		deltas = c.step(c.table, changes, nil, deltas)
		c.mu.Unlock()
		c.scratch.forget()
		c.push(deltas, false)
		c.admitArrived(deltas)
		c.supersede(deltas)
		c.shrink()
	}
}

// supersede notes for residency which states are not, or no longer, in the store.
func (c *Collection) supersede(deltas []Delta) {
	c.resident.stored.Store(c.table.decoded)
	for _, d := range deltas {
		if d.Old != nil {
			c.resident.supersede(d.Old)
		}
		if d.Kind == Deleted {
			c.resident.supersede(d.New)
		}
	}
}

// shrink moves what is left to a smaller table when most objects are gone.
func (c *Collection) shrink() {
	if !c.table.sparse() {
		return
	}
	next := c.table.rebuilt()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table = next
}

// Edit makes changes that no server sent, whatever their versions, and delivers
// nothing. It is for programs that fill a store themselves, as tests do.
func (c *Collection) Edit(batch []Change) {
	c.write.Lock()
	defer c.write.Unlock()
	var deltas []Delta // that are delivered to nobody
	c.change(len(batch), slices.Chunk(batch, inPlace), func(t *table, part []indexedChange) {
		for _, ch := range part {
			if held := t.get(ch.Record.key); held != nil && (ch.Gone || held != ch.Record) {
				deltas = append(deltas, Delta{Kind: Updated, Old: held, New: ch.Record})
			}
			if ch.Gone {
				t.remove(ch.Record.key)
			} else {
				t.put(ch.Record, ch.values)
			}
		}
	})
	c.supersede(deltas)
	c.shrink()
}

// change makes n changes, in parts of inPlace, at once for readers: a few in place,
// many in a copy that then takes the place of the table, so that readers do not wait
// for them. Index functions run before the readers' lock is taken.
func (c *Collection) change(n int, parts iter.Seq[[]Change], do func(*table, []indexedChange)) {
	defer c.scratch.forget()
	if n > inPlace {
		next := c.table.clone()
		for part := range parts {
			do(next, c.indexed(next, part))
			c.scratch.forget()
		}
		next.keys = next.keys.Fit(0)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.table = next
	} else {
		var only []indexedChange
		for part := range parts {
			only = c.indexed(c.table, part)
		}
		keys := c.table.keys.Fit(n)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.table.keys = keys
		do(c.table, only)
	}
}

// List is the whole of a partition, as a server listed it.
type List struct {
	// Records are used up: Replace works in their memory.
	Records []*Record
	// NewEpoch: the server's history went back, so older states replace newer.
	NewEpoch bool
	// Current: the list is not older than what the store has, and of a server that was
	// seen not to order states, so that a lower version of an object is no older state.
	Current bool
	// Incomplete: some objects could not be read, so what is missing from the
	// list is kept: it may be one of them. In a new epoch, nothing is.
	Incomplete bool
	// Rejected: of some objects the last good state is listed.
	Rejected bool
}

// Stored is a list that is in the store and not delivered yet. The collection has no
// other writer until Deliver is called.
type Stored struct {
	// Changes is how many objects have changed, Gone the last states of those that
	// are gone.
	Changes int
	Gone    []*Record

	c      *Collection
	deltas []Delta
	// changes are the deltas that changed the store, which are not always those that are
	// to be delivered.
	changes []Delta
	listed  *Partition // it has had its first list by that; nil: it had one before
}

// Deliver tells those who wait for the first list of it, and delivers the changes.
func (s *Stored) Deliver() {
	if s.listed != nil {
		close(s.listed.listed)
	}
	if n := len(s.deltas); n > 0 && s.deltas[n-1].Kind == initialEnd {
		close(s.c.synced)
	}
	s.c.push(s.deltas, true)
	s.c.supersede(s.deltas)
	s.c.shrink()
	s.c.write.Unlock()
}

// Replace makes a partition equal to a list, and delivers the changes.
func (c *Collection) Replace(p *Partition, list List) { c.Store(p, list, Version{}).Deliver() }

// Store makes a partition equal to a list that a server gave a version. Records that
// are in the store already (an ingester returns the stored one for an unchanged
// object) cost nothing and change nothing. Deliver must be called on the result.
func (c *Collection) Store(p *Partition, list List, version Version) *Stored {
	c.write.Lock()
	rep := &replacement{initial: c.waiting[p], lastWord: list.lastWord()}
	changed, gone := c.difference(p, list)
	n := len(changed) + len(gone)
	deltas := make([]Delta, 0, n+1)
	c.change(n, inParts(changed, gone), func(t *table, part []indexedChange) { deltas = c.step(t, part, rep, deltas) })
	p.reach(version)
	p.confirm()
	stored := c.first(p, deltas)
	stored.Changes, stored.Gone = n, gone
	return stored
}

// replacement says to step that the changes come from a list.
type replacement struct{ initial, lastWord bool }

// lastWord reports whether what is listed counts, whatever its versions.
func (l *List) lastWord() bool { return l.NewEpoch || l.Current }

// difference returns what has to change for a partition to equal a list: the states
// to store, in the memory of the list, and the last states of what is gone.
func (c *Collection) difference(p *Partition, list List) (changed, gone []*Record) {
	changed = list.Records[:0]
	listed := make([]uint64, (c.table.records.Slots()+63)/64)
	for _, r := range list.Records {
		s, ok := c.table.slotOf(r.key)
		if !ok {
			changed = append(changed, r)
			continue
		}
		listed[s/64] |= 1 << (s % 64)
		if held := c.table.at(s); held != r && !held.packsSame(r) && (list.lastWord() || !r.overtaken(held)) {
			changed = append(changed, r)
		}
	}
	if list.Incomplete && !list.NewEpoch {
		return changed, nil
	}
	for r := range c.table.snapshotBy(p) {
		if s, _ := c.table.slotOf(r.key); listed[s/64]&(1<<(s%64)) == 0 {
			gone = append(gone, r)
		}
	}
	return changed, gone
}

// inParts yields the changes of a list, inPlace at a time, in memory that is reused.
func inParts(changed, gone []*Record) iter.Seq[[]Change] {
	return func(yield func([]Change) bool) {
		all := len(changed) + len(gone)
		part := make([]Change, 0, min(all, inPlace))
		for i := range all {
			if i < len(changed) {
				part = append(part, Change{Record: changed[i]})
			} else {
				part = append(part, Change{Record: gone[i-len(changed)], Gone: true})
			}
			if len(part) == inPlace || i == all-1 {
				if !yield(part) {
					return
				}
				part = part[:0]
			}
		}
	}
}

// indexed computes the index values of each state to store, and leaves out the
// states whose index functions fail: their last good state stays. The result is
// valid until the next call.
func (c *Collection) indexed(t *table, changes []Change) []indexedChange {
	x := &c.scratch
	good := x.changes[:0]
	x.texts = x.texts[:0]
	values := slices.Grow(x.values[:0], len(changes)*len(c.indexers))
	for _, ch := range changes {
		if !ch.Gone {
			from := len(values)
			var ok bool
			if values, ok = c.appendValues(values, ch.Record); ok {
				good = append(good, indexedChange{ch, values[from:]})
				continue
			}
			values = values[:from]
			c.resident.supersede(ch.Record) // it never gets into the store
			held := t.get(ch.Record.key)
			if held == nil || held.uid == ch.Record.uid {
				continue
			}
			ch = Change{Record: held, Gone: true} // the last good state was another object's
		}
		good = append(good, indexedChange{Change: ch})
	}
	x.changes, x.values = good, values
	return good
}

// appendValues appends the values of a record, by index.
func (c *Collection) appendValues(values [][]string, r *Record) ([][]string, bool) {
	for _, ix := range c.indexers {
		v, err := indexContained(ix, r)
		if err != nil {
			c.reject(r.key, err)
			return values, false
		}
		values = append(values, c.scratch.keep(v))
	}
	return values, true
}

// keep returns a copy of values, sorted and without repetitions: an index function
// may give them in memory that it uses again.
func (x *indexing) keep(values []string) []string {
	from := len(x.texts)
	x.texts = append(x.texts, values...)
	own := x.texts[from:len(x.texts):len(x.texts)]
	if len(own) > 1 {
		slices.Sort(own)
		own = slices.Compact(own)
	}
	return own
}

// indexContained runs an index function; a panic becomes an error.
func indexContained(ix Indexer, r *Record) (values []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			values, err = nil, fmt.Errorf("index %q of %s: %w", ix.Name, r.key, err)
		}
	}()
	return ix.Values(r)
}

// step makes the changes in t and appends what is to be delivered.
func (c *Collection) step(t *table, changes []indexedChange, rep *replacement, deltas []Delta) []Delta {
	at := time.Now()
	now := coarse(at)
	c.resident.now.Store(now)
	first := len(deltas)
	for _, ch := range changes {
		held := t.get(ch.Record.key)
		switch {
		case held == nil && ch.Gone, held == ch.Record && !ch.Gone:
			// Nothing to do: gone already, or here already.
		case held == nil:
			t.put(ch.Record, ch.values)
			deltas = append(deltas, Delta{Kind: Added, New: ch.Record, Initial: rep != nil && rep.initial})
		case ch.Record.overtaken(held) && (rep == nil || !rep.lastWord),
			rep == nil && !ch.Gone && held.sameState(ch.Record):
			// The store has it, or a newer state of the same object. The caller
			// has counted it.
			c.resident.supersede(ch.Record) // index functions may have had it decoded
		case ch.Gone:
			t.remove(held.key)
			deltas = append(deltas, Delta{Kind: Deleted, Old: held, New: ch.Record, FinalStateUnknown: rep != nil})
		case ch.Record.another(held):
			// Another object under the same name: the end of the first was missed.
			t.put(ch.Record, ch.values)
			deltas = append(deltas,
				Delta{Kind: Deleted, Old: held, New: held, FinalStateUnknown: true},
				Delta{Kind: Added, New: ch.Record})
		default:
			c.resident.follow(ch.Record, held, now)
			t.put(ch.Record, ch.values)
			deltas = append(deltas, Delta{Kind: Updated, Old: held, New: ch.Record})
		}
	}
	for i := first; i < len(deltas); i++ {
		deltas[i].stamp = stampOf(at)
		deltas[i].holdArrived(rep != nil)
	}
	return deltas
}

// push puts deltas into every queue. They are shared, so nobody changes them.
func (c *Collection) push(deltas []Delta, list bool) {
	if len(deltas) == 0 {
		return
	}
	if len(c.tallies) > 0 {
		c.tallyLocked(deltas)
	}
	for _, s := range c.subs {
		if n := s.queue.push(deltas, list); n > 0 {
			c.observe(Observation{Point: PointMerged, Subscriber: s.options.Name, Count: n})
		}
	}
}
