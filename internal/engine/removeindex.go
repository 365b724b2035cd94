package engine

import (
	"errors"
	"fmt"
	"slices"
)

// errNoIndex says that there is no index of a name.
var errNoIndex = errors.New("no index of that name exists")

// RemoveIndex removes an index: its function is not called any more, and its memory
// is free once those who read it are done.
func (c *Collection) RemoveIndex(name string) error {
	c.write.Lock()
	defer c.write.Unlock()
	i := c.indexLocked(name)
	if i < 0 {
		return fmt.Errorf("index %q: %w", name, errNoIndex)
	}
	// Copies, without spare memory that would hold on to what was removed.
	indexers := slices.Concat(c.indexers[:i], c.indexers[i+1:])
	indexes := slices.Concat(c.table.indexes[:i], c.table.indexes[i+1:])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexers, c.table.indexes = indexers, indexes
	return nil
}
