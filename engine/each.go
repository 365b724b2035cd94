package engine

import "iter"

// Each yields the objects of a view with their records, without those that cannot be
// decoded, as of the moment when the iteration begins. It works like Objects,
// page by page: what is remembered of an earlier list is taken from there, and what
// this one decodes is remembered if it stays decoded. Unlike Objects, it counts as
// going over a set, which keeps objects decoded only when it is done again soon. The
// objects are shared: callers must not change them.
func (c *Collection) Each(v *View) iter.Seq2[*Record, any] {
	return func(yield func(*Record, any) bool) {
		c.mu.RLock()
		snap := c.table.snapshot()
		c.mu.RUnlock()
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
				l, next[i] = c.listPage(p, v, Sweep)
			}
			for j, r := range p.Values() {
				if obj := l.objects[j]; obj != nil && !yield(r, obj) {
					return
				}
			}
		}
		if next != nil {
			c.resident.remember(v, &next, released)
		}
	}
}
