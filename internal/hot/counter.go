package hot

import (
	"container/heap"
	"math"
	"time"
)

// window is the time that rates are of: what happened before it counts less and less.
const window = 10 * time.Second

// entryBytes is about what an entry takes besides its strings and its fields.
const entryBytes = 256

// entry counts the changes of one thing.
type entry struct {
	name                    string
	count                   uint64 // at most this many, and at least count-over
	over                    uint64 // what it took over from those that it replaced
	added, updated, deleted uint64
	rate                    float64 // a second, at the time of last
	since, last             time.Time
	object                  *object // of an object: what has changed, and who did it
	place                   int     // in the heap
}

// rateAt is how many changes there are in a second.
func (e *entry) rateAt(now time.Time) float64 {
	return e.rate * math.Exp(-max(0, now.Sub(e.last).Seconds())/window.Seconds())
}

func (e *entry) bytes() int64 {
	n := int64(entryBytes + 2*len(e.name))
	if e.object != nil {
		n += e.object.bytes
	}
	return n
}

// counter counts changes by name, in so many bytes. When they are spent, what has the
// fewest changes makes room, and the newcomer takes over its count: it may have been
// there before. So whatever changes often is in the counter, and a count is never too
// low, and too high by no more than over.
type counter struct {
	most, used int64
	entries    map[string]*entry
	least      fewest
}

func newCounter(most int64) *counter { return &counter{most: most, entries: map[string]*entry{}} }

// add counts a change and returns its entry.
func (c *counter) add(name, kind string, now time.Time) *entry {
	e := c.entries[name]
	if e == nil {
		e = &entry{name: name, since: now, last: now}
		e.over = c.makeRoom(e.bytes())
		e.count = e.over
		c.entries[name] = e
		c.used += e.bytes()
		heap.Push(&c.least, e)
	}
	e.count++
	e.rate = e.rateAt(now) + 1/window.Seconds()
	e.last = now
	switch kind {
	case Added:
		e.added++
	case Updated:
		e.updated++
	case Deleted:
		e.deleted++
	}
	heap.Fix(&c.least, e.place)
	return e
}

// grew notes that an entry has become larger by some bytes. It may cost others their
// place, and never its own.
func (c *counter) grew(e *entry, bytes int64) {
	c.used += bytes
	if c.used <= c.most {
		return
	}
	heap.Remove(&c.least, e.place)
	c.makeRoom(0)
	heap.Push(&c.least, e)
}

// makeRoom forgets what has the fewest changes until so many bytes are free, and returns
// the highest count among that.
func (c *counter) makeRoom(bytes int64) (highest uint64) {
	for c.used+bytes > c.most && len(c.least) > 0 {
		e := heap.Pop(&c.least).(*entry)
		delete(c.entries, e.name)
		c.used -= e.bytes()
		highest = max(highest, e.count)
	}
	return highest
}

// fewest is a heap of entries, that with the fewest changes first.
type fewest []*entry

func (f fewest) Len() int           { return len(f) }
func (f fewest) Less(i, j int) bool { return f[i].count < f[j].count }
func (f fewest) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].place, f[j].place = i, j
}
func (f *fewest) Push(x any) {
	e := x.(*entry)
	e.place = len(*f)
	*f = append(*f, e)
}
func (f *fewest) Pop() any {
	last := len(*f) - 1
	e := (*f)[last]
	(*f)[last] = nil
	*f = (*f)[:last]
	return e
}
