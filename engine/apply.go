package engine

import (
	"fmt"
	"slices"
)

// Change is one step of a batch: a state to store, or the last state of an
// object that is gone.
type Change struct {
	Record *Record
	Gone   bool

	values [][]string // by index: what Record is found under
}

// inPlace is how many changes are made under the readers' lock at once; larger
// sets are built beside the present one, which is then swapped.
const inPlace = 512

// Apply makes the changes in their order: store and indexes, then queues, under one
// writer's lock, so that nobody hears of what cannot be read, and nobody who joins
// meanwhile misses or repeats anything.
func (c *Collection) Apply(batch []Change) {
	c.write.Lock()
	defer c.write.Unlock()
	for part := range slices.Chunk(c.indexed(batch), inPlace) {
		c.mu.Lock()
		deltas := c.step(c.table, part, nil)
		c.mu.Unlock()
		c.push(deltas)
		c.supersede(deltas)
	}
}

// supersede lets residency know which states have left the store.
func (c *Collection) supersede(deltas []Delta) {
	for _, d := range deltas {
		if d.Old != nil {
			c.resident.supersede(d.Old)
		}
	}
}

// Edit makes changes that no server sent, whatever their versions, and tells
// nobody. It is for programs that fill a store themselves, as tests do.
func (c *Collection) Edit(batch []Change) {
	c.write.Lock()
	defer c.write.Unlock()
	batch = c.indexed(batch)
	c.change(len(batch), func(t *table) {
		for _, ch := range batch {
			if ch.Gone {
				t.remove(ch.Record.key)
			} else {
				t.put(ch.Record, ch.values)
			}
		}
	}, nil)
}

// change makes n changes at once for readers: a few in place, many in a copy that
// then takes the place of the table, so that readers do not wait for them.
func (c *Collection) change(n int, do func(*table), stored func()) {
	next := c.table
	if n <= inPlace {
		c.mu.Lock()
		defer c.mu.Unlock()
		do(next)
	} else {
		next = c.table.clone()
		do(next)
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	c.table = next
	if stored != nil {
		stored()
	}
}

// List is the whole of a partition, as a server listed it.
type List struct {
	Records []*Record
	// NewEpoch: the server's history went back, so older states replace newer.
	NewEpoch bool
	// Incomplete: some objects could not be read, so what is missing from the
	// list is kept: it may be one of them. In a new epoch, nothing is.
	Incomplete bool
	// Stored, if set, is called when the store has the list and nobody knows of it
	// yet. It must not call the collection.
	Stored func()
}

// Replace makes a partition equal to a list. Records that are in the store
// already (an ingester gives back the stored one for an unchanged object) cost
// nothing and tell nothing.
func (c *Collection) Replace(p *Partition, list List) {
	c.write.Lock()
	defer c.write.Unlock()
	rep := &replacement{initial: c.waiting[p], newEpoch: list.NewEpoch}
	changes := c.indexed(c.difference(p, list))
	var deltas []Delta
	c.change(len(changes), func(t *table) { deltas = c.step(t, changes, rep) }, list.Stored)
	delete(c.waiting, p)
	if rep.initial && len(c.waiting) == 0 {
		deltas = append(deltas, Delta{Kind: initialEnd})
		close(c.synced)
	}
	c.push(deltas)
	c.supersede(deltas)
}

// replacement tells step that the changes come from a list.
type replacement struct{ initial, newEpoch bool }

// difference returns what has to change for a partition to equal a list.
func (c *Collection) difference(p *Partition, list List) []Change {
	var changes []Change
	listed := make([]uint64, (c.table.records.Slots()+63)/64)
	for _, r := range list.Records {
		s, ok := c.table.slots[r.key]
		if !ok {
			changes = append(changes, Change{Record: r})
			continue
		}
		listed[s/64] |= 1 << (s % 64)
		if held := c.table.at(s); held != r && (list.NewEpoch || !r.older(held)) {
			changes = append(changes, Change{Record: r})
		}
	}
	if list.Incomplete && !list.NewEpoch {
		return changes
	}
	for r := range c.table.snapshotBy(p) {
		if s := c.table.slots[r.key]; listed[s/64]&(1<<(s%64)) == 0 {
			changes = append(changes, Change{Record: r, Gone: true})
		}
	}
	return changes
}

// indexed computes the index values of each state to store, and leaves out the
// states whose index functions fail: their last good state stays.
func (c *Collection) indexed(batch []Change) []Change {
	if len(c.indexers) == 0 {
		return batch
	}
	good := batch[:0]
	for _, ch := range batch {
		if !ch.Gone && !c.computeValues(&ch) {
			held := c.table.get(ch.Record.key)
			if held == nil || held.uid == ch.Record.uid {
				continue
			}
			ch = Change{Record: held, Gone: true} // the last good state was another object's
		}
		good = append(good, ch)
	}
	return good
}

func (c *Collection) computeValues(ch *Change) bool {
	ch.values = make([][]string, len(c.indexers))
	for i, ix := range c.indexers {
		v, err := indexContained(ix, ch.Record)
		if err != nil {
			c.reject(ch.Record.key, err)
			return false
		}
		ch.values[i] = v
	}
	return true
}

// indexContained runs an index function and returns its values sorted and
// without repetitions; a panic becomes an error.
func indexContained(ix Indexer, r *Record) (values []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("index %q of %s: %w", ix.Name, r.key, err)
		}
	}()
	values, err = ix.Values(r)
	if len(values) > 1 {
		values = slices.Clone(values)
		slices.Sort(values)
		values = slices.Compact(values)
	}
	return values, err
}

// step makes the changes in t and returns what subscribers have to hear.
func (c *Collection) step(t *table, changes []Change, rep *replacement) []Delta {
	deltas := make([]Delta, 0, len(changes)+1)
	now := coarseNow()
	c.resident.now.Store(now)
	for _, ch := range changes {
		held := t.get(ch.Record.key)
		switch {
		case held == nil && ch.Gone, held == ch.Record && !ch.Gone:
			// Nothing to do: gone already, or here already.
		case held == nil:
			t.put(ch.Record, ch.values)
			deltas = append(deltas, Delta{Kind: Added, New: ch.Record, Initial: rep != nil && rep.initial})
		case ch.Record.older(held) && (rep == nil || !rep.newEpoch),
			rep == nil && !ch.Gone && held.sameState(ch.Record):
			c.stale.Add(1)
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
	return deltas
}

// push puts deltas into every queue. They are shared, so nobody changes them.
func (c *Collection) push(deltas []Delta) {
	if len(deltas) == 0 {
		return
	}
	for _, s := range c.subs {
		s.queue.push(deltas)
	}
}
