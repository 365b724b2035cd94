package hot

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// The kinds of changes.
const (
	Added   = "added"
	Updated = "updated"
	Deleted = "deleted"
)

// Change is one change of one object.
type Change struct {
	Time     time.Time
	Type     string // Added, Updated or Deleted
	Resource string // "pods"
	Key      string // "namespace/name", or "name"
	Fields   []Field
}

// DefaultBytes is what a Tracker holds at most, unless it is told otherwise: some 10,000
// objects.
const DefaultBytes = 4 << 20

// Tracker counts changes. Its methods may be called by many goroutines.
type Tracker struct {
	mu                                   sync.Mutex
	began                                time.Time
	changes                              uint64
	kinds, namespaces, objects, managers *counter
}

// NewTracker returns a tracker that begins now and holds so many bytes at most; zero is
// DefaultBytes.
func NewTracker(now time.Time, bytes int64) *Tracker {
	if bytes <= 0 {
		bytes = DefaultBytes
	}
	return &Tracker{
		began: now, kinds: newCounter(bytes / 16), namespaces: newCounter(bytes / 8),
		managers: newCounter(bytes / 16), objects: newCounter(bytes - bytes/4),
	}
}

// Add counts a change.
func (t *Tracker) Add(c Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	t.kinds.add(c.Resource, c.Type, c.Time)
	if namespace, _, ok := strings.Cut(c.Key, "/"); ok {
		t.namespaces.add(namespace, c.Type, c.Time)
	}
	var seen []string
	for _, f := range c.Fields {
		if f.Manager != "" && !slices.Contains(seen, f.Manager) {
			seen = append(seen, f.Manager)
			t.managers.add(f.Manager, c.Type, c.Time)
		}
	}
	e := t.objects.add(c.Resource+" "+c.Key, c.Type, c.Time)
	if e.object == nil {
		e.object = &object{kind: c.Resource, key: c.Key}
	}
	t.objects.grew(e, e.object.note(c.Fields, c.Time))
}

// Bytes is about what the tracker holds.
func (t *Tracker) Bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kinds.used + t.namespaces.used + t.managers.used + t.objects.used
}
