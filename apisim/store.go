package apisim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/btree"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// store is all state of a server: the objects of every resource, their latest
// changes, and the one resource version that counts them.
type store struct {
	mu sync.RWMutex

	// Guarded by mu.
	version   uint64
	resources map[schema.GroupVersionResource]*resource
	advanced  chan struct{} // made when somebody waits for a version; closed by the next change
	onChange  func(c *collection, before, after *object)
	followers []func(c *collection, e *event) // are called for every change
	emptying  bool                            // a namespace is being emptied; onChange need not look whether it is
}

// object is one state of one object. It is never changed.
type object struct {
	key     string // namespace/name, or name if the resource has no namespaces
	version uint64
	blob    // in the encoding of its collection
}

// collection holds the objects of one resource, whatever the version of the
// API they are read in.
type collection struct {
	gr    schema.GroupResource
	codec codec

	// Guarded by store.mu.
	tree    *btree.BTreeG[*object]
	view    *btree.BTreeG[*object] // a copy that is not written, valid until the next change
	log     history
	changed chan struct{} // made when somebody waits; closed by the next change
	gone    bool          // this collection is served no longer
	cut     chan struct{} // closed when it is gone
}

const treeDegree = 64

// errChanged: the object is not, or no longer, what the caller has seen.
var errChanged = errors.New("the object was changed meanwhile")

// errGone: the collection was there when the request came, but no longer.
var errGone = apierrors.NewServiceUnavailable("the resource went away while it was written to")

func byKey(a, b *object) bool { return a.key < b.key }

func newCollection(gr schema.GroupResource, c codec, historyLimit int) *collection {
	return &collection{
		gr:    gr,
		codec: c,
		tree:  btree.NewG(treeDegree, byKey),
		log:   history{limit: historyLimit},
		cut:   make(chan struct{}),
	}
}

// get returns the present state of an object, or nil.
func (s *store) get(c *collection, key string) *object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return c.getLocked(key)
}

func (c *collection) getLocked(key string) *object {
	o, _ := c.tree.Get(&object{key: key})
	return o
}

// viewLocked returns the present objects as a tree that never changes. It
// needs the write lock: copying marks the nodes of the tree as shared.
func (c *collection) viewLocked() *btree.BTreeG[*object] {
	if c.view == nil {
		c.view = c.tree.Clone()
	}
	return c.view
}

// now returns the present objects of a collection and the version they have.
func (s *store) now(c *collection) (*btree.BTreeG[*object], uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.viewLocked(), s.version
}

// put replaces the state old of an object (nil: create it) by obj, which gets
// the next resource version. admit, if not nil, is asked under the lock. With
// dry, everything is done but the change. Possible errors: errChanged if the
// present state is not old, errGone, and what admit says.
func (s *store) put(c *collection, key string, old *object, obj runtime.Object, dry bool, admit func() error) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return nil, errGone
	}
	if admit != nil {
		if err := admit(); err != nil {
			return nil, err
		}
	}
	if c.getLocked(key) != old {
		return nil, errChanged
	}
	if dry {
		data, err := c.codec.encode(obj)
		return &object{key: key, blob: plain(data)}, err
	}
	return s.putLocked(c, key, old, obj)
}

func (s *store) putLocked(c *collection, key string, old *object, obj runtime.Object) (*object, error) {
	setVersion(obj, s.version+1)
	data, err := c.codec.encode(obj)
	if err != nil {
		return nil, err
	}
	after := &object{key: key, version: s.version + 1, blob: plain(data)}
	kind := eventModified
	if old == nil {
		kind = eventAdded
	}
	s.commitLocked(c, &event{kind: kind, object: after, before: old})
	return after, nil
}

// remove deletes the state old of an object. What it returns is that state
// with the version of the deletion. Possible errors: errChanged, errGone.
func (s *store) remove(c *collection, old *object) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return nil, errGone
	}
	if c.getLocked(old.key) != old {
		return nil, errChanged
	}
	return s.removeLocked(c, old)
}

func (s *store) removeLocked(c *collection, old *object) (*object, error) {
	data, err := c.codec.stamp(old.data(), s.version+1)
	if err != nil {
		return nil, err
	}
	last := &object{key: old.key, version: s.version + 1, blob: plain(data)}
	s.commitLocked(c, &event{kind: eventDeleted, object: last, before: old})
	return last, nil
}

// commitLocked is the one place where state changes: the tree, the history and
// the version change and those who wait are woken, all under one lock, so that
// a reader of a version never misses what the version counts.
func (s *store) commitLocked(c *collection, e *event) {
	s.version = e.object.version
	c.view = nil
	if e.kind == eventDeleted {
		c.tree.Delete(e.object)
	} else {
		c.tree.ReplaceOrInsert(e.object)
	}
	c.log.add(e)
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
	s.advancedLocked()
	for _, tell := range s.followers {
		tell(c, e)
	}
	if s.onChange != nil {
		var after *object
		if e.kind != eventDeleted {
			after = e.object
		}
		s.onChange(c, e.before, after)
	}
}

func (s *store) advancedLocked() {
	if s.advanced != nil {
		close(s.advanced)
		s.advanced = nil
	}
}

// waitFor returns when the resource version has reached want, the time is
// over or ctx is done; it returns the version it saw last.
func (s *store) waitFor(ctx context.Context, want uint64, limit time.Duration) uint64 {
	var timeout <-chan time.Time
	for {
		s.mu.Lock()
		version := s.version
		if version >= want {
			s.mu.Unlock()
			return version
		}
		if s.advanced == nil {
			s.advanced = make(chan struct{})
		}
		advanced := s.advanced
		s.mu.Unlock()
		if timeout == nil {
			timer := time.NewTimer(limit)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-advanced:
		case <-timeout:
			return version
		case <-ctx.Done():
			return version
		}
	}
}
