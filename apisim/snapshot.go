package apisim

import (
	"maps"

	"github.com/google/btree"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Snapshot is the state of a server at one moment. It is cheap: what has not
// changed since is shared with the server.
type Snapshot struct {
	version   uint64
	resources map[schema.GroupVersionResource]*resource
	trees     map[*collection]*btree.BTreeG[*object]
}

// Snapshot keeps the present state for Restore.
func (s *Server) Snapshot() *Snapshot {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.snapshotLocked()
}

func (s *Server) snapshotLocked() *Snapshot {
	kept := &Snapshot{
		version:   s.store.version,
		resources: maps.Clone(s.store.resources),
		trees:     map[*collection]*btree.BTreeG[*object]{},
	}
	for c := range s.store.collectionsLocked() {
		kept.trees[c] = c.viewLocked()
	}
	return kept
}

// Restore goes back in time, as a cluster does whose etcd was restored from a
// backup: objects and the resource version are those of the snapshot, later
// history is forgotten, all connections are cut.
func (s *Server) Restore(kept *Snapshot) {
	s.store.restore(kept)
	s.connections.cut()
}

// restore replaces every collection by a new one, so that requests that still
// read the old ones cannot mix the two.
func (s *store) restore(kept *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.collectionsLocked() {
		c.closeLocked()
	}
	renewed := map[*collection]*collection{}
	for c, tree := range kept.trees {
		fresh := newCollection(c.gr, c.codec, c.log.limit)
		fresh.tree = tree.Clone()
		fresh.log.forget(kept.version)
		renewed[c] = fresh
	}
	s.resources = map[schema.GroupVersionResource]*resource{}
	for gvr, r := range kept.resources {
		copied := *r
		copied.store = renewed[r.store]
		s.resources[gvr] = &copied
	}
	s.version = kept.version
	s.advancedLocked()
}

// closeLocked ends the watches of a collection that is served no longer.
func (c *collection) closeLocked() {
	if !c.gone {
		c.gone = true
		close(c.cut)
	}
}

// ForgetHistory drops all history, as a compaction does: watches, exact lists
// and continue tokens of an earlier version are answered with 410. Watches
// that are running go on.
func (s *Server) ForgetHistory() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for c := range s.store.collectionsLocked() {
		c.log.forget(s.store.version)
	}
}

// Restart does what clients see of a server that was restarted: all
// connections are cut, watches cannot start from a version before the
// restart (410), the objects are kept.
func (s *Server) Restart() {
	s.store.mu.Lock()
	for c := range s.store.collectionsLocked() {
		c.log.watchFloor = max(c.log.watchFloor, s.store.version)
	}
	s.store.mu.Unlock()
	s.connections.cut()
}
