package engine

import "iter"

// Readable is closed once every partition has something to read: its first list, or what
// the disk had of it, which may be old. Synced says when the server has confirmed it.
func (c *Collection) Readable() <-chan struct{} { return c.readable }

// readableWith notes that a partition can be read.
func (c *Collection) readableWith(p *Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.unread[p] {
		return
	}
	if delete(c.unread, p); len(c.unread) == 0 {
		close(c.readable)
	}
}

// recordsOf yields the records of a partition as of the moment of the call.
func (c *Collection) recordsOf(p *Partition) iter.Seq[*Record] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.table.snapshotBy(p)
}
