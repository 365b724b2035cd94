package engine

// Forget lets go of the objects that were made of a record: the next reader gets
// them anew, from the bytes.
func (c *Collection) Forget(r *Record) {
	if r.slab != nil { // an object that came as one has nothing else
		r.decodings.Store(nil)
	}
}
