package engine

// Wanted returns a record's object in a view if it is worth sharing: it is decoded
// already, or it was wanted not long ago, and then it is kept from now on. Otherwise it
// returns nil, and a caller that needs an object of its own had better decode the
// record straight into that, instead of copying one that nobody else will read. What
// is wanted for ReadAll is not kept for it: that would be as much as all objects weigh.
// What it returns is shared: callers must not change it.
func (c *Collection) Wanted(r *Record, v *View, use Use) (any, error) {
	if r.bytes.None() || v.Alters || r.decoded().find(v) != nil {
		return c.Decode(r, v, use)
	}
	if use == ReadAll {
		c.missed()
		return nil, nil
	}
	if now := coarseNow(); now-r.use.stamp(now) > recently {
		c.missed()
		return nil, nil
	}
	return c.Decode(r, v, use)
}
