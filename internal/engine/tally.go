package engine

import "slices"

// tally notes which objects have ended since it was begun, while somebody compares the
// store with a list: what a list has and the store has not may have been deleted in
// between.
type tally struct {
	// ended has the highest version at which an object was seen to end, by its identity.
	// Guarded by Collection.write.
	ended map[uid]uint64
	// lost: more have ended than are remembered, so that any object may have.
	lost bool
}

// maxTally bounds what a tally remembers: about 4 MiB.
const maxTally = 4 << 20 / 64

func (c *Collection) beginTally() *tally {
	t := &tally{ended: map[uid]uint64{}}
	c.write.Lock()
	defer c.write.Unlock()
	c.tallies = append(c.tallies, t)
	return t
}

func (c *Collection) endTally(t *tally) {
	c.write.Lock()
	defer c.write.Unlock()
	c.tallies = slices.DeleteFunc(c.tallies, func(o *tally) bool { return o == t })
}

// tallyLocked notes what has ended.
func (c *Collection) tallyLocked(deltas []Delta) {
	for _, t := range c.tallies {
		for i := range deltas {
			if d := &deltas[i]; d.Kind == Deleted {
				t.note(d.New)
			}
		}
	}
}

func (t *tally) note(r *Record) {
	if at, known := t.ended[r.uid]; known || len(t.ended) < maxTally {
		t.ended[r.uid] = max(at, r.number)
	} else {
		t.lost = true
	}
}

// hasEnded reports whether an object that was there in a state has ended since.
func (c *Collection) hasEnded(t *tally, id uid, version Version) bool {
	c.write.Lock()
	defer c.write.Unlock()
	at, known := t.ended[id]
	return t.lost || known && at >= version.number
}
