package engine

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/internal/pages"
)

// A program that lists all objects again and again mostly gets what it got before.
// So the objects of a list are remembered by page: of a page that has not changed,
// they are copied, and no record has to be looked at. A listing is dropped when nobody
// uses it any more, or when one of its objects may not stay decoded.

// listing is what a view last listed, by page. It is never changed, only replaced.
type listing []*listedPage

type listedPage struct {
	of      *pages.Page[*Record]
	objects [pages.Size]any // nil where there is none
	n       int             // how many there are
}

// page returns the objects of a page, if they are remembered.
func (l *listing) page(i int, of *pages.Page[*Record]) *listedPage {
	if l == nil || i >= len(*l) || (*l)[i] == nil || (*l)[i].of != of {
		return nil
	}
	return (*l)[i]
}

// object returns the object of a slot on a page, if it is remembered.
func (l *listing) object(s slot, of *pages.Page[*Record]) any {
	if p := l.page(int(s/pages.Size), of); p != nil {
		return p.objects[s%pages.Size]
	}
	return nil
}

// Objects returns all objects of a view as of the moment of the call, without those
// that cannot be decoded. They are shared: callers must not change them.
func (c *Collection) Objects(v *View) []any {
	c.mu.RLock()
	snap, n, weight := c.table.snapshot(), c.table.len(), c.table.decoded
	c.mu.RUnlock()
	use := ReadAll
	if weight > smallSweep {
		use = Sweep
	}
	all := make([]any, 0, n)
	ahead := c.listAhead(snap, v, use)
	c.walk(snap, v, use, ahead, func(l *listedPage) bool {
		all = l.appendTo(all)
		return true
	})
	return all
}

// smallSweep is what all objects of a store may weigh decoded that are kept when they
// are first listed. Of a larger store, they are kept when they are listed again soon: a
// program that lists everything every few minutes would otherwise hold it most of the
// time.
const smallSweep = 32 << 20

// Each yields the objects of a view with their records, as of the moment when the
// iteration begins, without those that cannot be decoded. Unlike Objects, it counts as
// going over a set, which keeps objects decoded only when it is done again soon. The
// objects are shared: callers must not change them.
func (c *Collection) Each(v *View) iter.Seq2[*Record, any] {
	return func(yield func(*Record, any) bool) {
		c.mu.RLock()
		snap := c.table.snapshot()
		c.mu.RUnlock()
		c.walk(snap, v, Sweep, nil, func(l *listedPage) bool {
			for i, r := range l.of.Values() {
				if obj := l.objects[i]; obj != nil && !yield(r, obj) {
					return false
				}
			}
			return true
		})
	}
}

// walk visits the objects of a snapshot page by page, until visit returns false: those
// of an earlier list where they are remembered, others decoded, unless that was done
// ahead. If it comes to the end, what stays decoded is remembered.
func (c *Collection) walk(snap pages.Snapshot[*Record], v *View, use Use, ahead decodedPages, visit func(*listedPage) bool) {
	known, released := v.listed.Load(), c.resident.released.Load()
	if known != nil {
		c.resident.listed()
	}
	var next listing
	for i, p := range snap.Pages() {
		l := known.page(i, p)
		if l == nil {
			if next == nil {
				next = make(listing, len(snap.Pages()))
				if known != nil {
					copy(next, *known)
				}
			}
			d := ahead.at(i)
			if d.all == nil {
				d = c.listPage(p, v, use)
			}
			l, next[i] = d.all, d.keep
		} else {
			c.hitAll(l.n)
		}
		if !visit(l) {
			return
		}
	}
	if next != nil {
		c.resident.remember(v, &next, released)
	}
}

// decodedPage is a page that was decoded for a list. keep is the same if the objects
// will stay decoded.
type decodedPage struct{ all, keep *listedPage }

// decodedPages are some pages of a snapshot.
type decodedPages []decodedPage

func (d decodedPages) at(i int) decodedPage {
	if i < len(d) {
		return d[i]
	}
	return decodedPage{}
}

// listAhead decodes the pages of a snapshot that are not remembered, on as many cores as
// are likely to be free.
func (c *Collection) listAhead(snap pages.Snapshot[*Record], v *View, use Use) decodedPages {
	var todo []int
	known := v.listed.Load()
	for i, p := range snap.Pages() {
		if known.page(i, p) == nil {
			todo = append(todo, i)
		}
	}
	helpers := min(runtime.GOMAXPROCS(0)-1, mostHelpers, len(todo)/4)
	if helpers < 1 || v.Alters {
		return nil
	}
	made := make(decodedPages, len(snap.Pages()))
	var next atomic.Int64
	work := func() {
		for n := next.Add(1); n <= int64(len(todo)); n = next.Add(1) {
			i := todo[n-1]
			made[i] = c.listPage(snap.Pages()[i], v, use)
		}
	}
	var others sync.WaitGroup
	for range helpers {
		others.Go(work)
	}
	work()
	others.Wait()
	return made
}

// listPage decodes the objects of a page.
func (c *Collection) listPage(p *pages.Page[*Record], v *View, use Use) decodedPage {
	l := &listedPage{of: p}
	keep := l
	for i, r := range p.Values() {
		if r == nil {
			continue
		}
		obj, err := c.Decode(r, v, use)
		if err == nil {
			l.objects[i] = obj
			l.n++
		}
		if !r.bytes.None() && !r.use.has(kept) {
			keep = nil
		}
	}
	return decodedPage{l, keep}
}

func (l *listedPage) appendTo(all []any) []any {
	if l.n == pages.Size {
		return append(all, l.objects[:]...)
	}
	for _, obj := range l.objects {
		if obj != nil {
			all = append(all, obj)
		}
	}
	return all
}

// Object returns the object of a key in a view; nil if there is none. It is shared:
// callers must not change it.
func (c *Collection) Object(key string, v *View) (any, error) {
	c.mu.RLock()
	s, ok := c.table.slotOf(key)
	if !ok {
		c.mu.RUnlock()
		return nil, nil
	}
	p := c.table.records.PageOf(s)
	r := p.Values()[s%pages.Size]
	// Under the lock, for the sake of the processor: it reads ahead of what it waits
	// for, but not beyond an atomic operation.
	obj := v.listed.Load().object(s, p)
	c.mu.RUnlock()
	if obj != nil {
		c.hit(r)
		r.use.set(used)
		return obj, nil
	}
	return c.Decode(r, v, Read)
}

// ObjectsBy returns the objects of a view that an index has under a value, as of the
// moment of the call and in no order, without those that cannot be decoded. They are
// shared: callers must not change them.
func (c *Collection) ObjectsBy(index, value string, v *View) []any {
	c.mu.RLock()
	set := c.indexedLocked(index, value)
	if set == nil {
		c.mu.RUnlock()
		return []any{}
	}
	found, page := set, c.table.records.PageOf
	if set.Len() > pages.Size {
		// Many are looked at without the lock, so that no writer waits.
		copied, snap := set.Clone(), c.table.snapshot()
		found, page = &copied, func(s slot) *pages.Page[*Record] { return snap.Pages()[s/pages.Size] }
		c.mu.RUnlock()
	}
	known := v.listed.Load()
	all := make([]any, 0, found.Len())
	var rest []*Record
	for s := range found.All() {
		p := page(s)
		r := p.Values()[s%pages.Size]
		if obj := known.object(s, p); obj != nil {
			c.hit(r)
			r.use.set(used)
			all = append(all, obj)
		} else {
			rest = append(rest, r)
		}
	}
	if found == set {
		c.mu.RUnlock()
	}
	for _, r := range rest {
		if obj, err := c.Decode(r, v, Read); err == nil {
			all = append(all, obj)
		}
	}
	return all
}

// listings are those of all views of a collection.
type listings struct {
	views []*View
	used  atomic.Bool // since age last ran
	stale int64       // what those of their objects weigh that have left the store
}

// listed notes that a listing was used, and with it all that is kept.
func (m *residency) listed() {
	if !m.lists.used.Load() {
		m.lists.used.Store(true)
	}
}

// remember keeps a view's listing, unless an object was evicted since it was begun:
// it may be one of the listing's.
func (m *residency) remember(v *View, l *listing, released uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.released.Load() != released {
		return
	}
	if v.listed.Swap(l) == nil {
		m.lists.views = append(m.lists.views, v)
		m.wakeLocked()
	}
	m.lists.used.Store(true)
	m.lists.stale = 0
}

// staleLocked notes that an object of the listings has left the store. They keep it
// alive, so they are forgotten when there is much of that.
func (m *residency) staleLocked(r *Record) {
	if len(m.lists.views) == 0 {
		return
	}
	if m.lists.stale += r.decodedWeight(); m.lists.stale > smallestRings {
		m.forgetListsLocked()
	}
}

// forgetListsLocked forgets all listings.
func (m *residency) forgetListsLocked() {
	for _, v := range m.lists.views {
		v.listed.Store(nil)
	}
	m.lists.views, m.lists.stale = nil, 0
}
