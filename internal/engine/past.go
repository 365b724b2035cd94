package engine

// past is what a collection knows of the server's history. Guarded by the collection's lock.
type past struct {
	epochs uint64  // how often it went back
	floor  Version // what the store had reached since, in scopes that it has left
}

// Epochs counts how often the server's history went back, as one reflector or another has
// found, of scopes that were left, too.
func (c *Collection) Epochs() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.epochs
}

// wentBack notes that the server's history went back. What was reached before says nothing
// about what the server has.
func (c *Collection) wentBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epochs++
	c.floor = Version{}
}

// raiseFloor notes what reflectors had reached that have ended, and returns what the next
// ones begin at. Where that is too high, as one of them had not noticed that the history
// went back, the server will say so.
func (c *Collection) raiseFloor(ended []*Reflector) Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range ended {
		v := r.part.Version()
		if v.number != 0 && !r.known.Unconfirmed && (c.floor.IsZero() || c.floor.Before(v)) {
			c.floor = v
		}
	}
	return c.floor
}
