package debug

import (
	"cmp"
	"slices"
	"time"
)

// hotBytes bounds what the counts of one informer take.
const hotBytes = 512 << 10

// entryBytes is about what an entry takes beside its key.
const entryBytes = 96

// hotList counts changes per object in bounded memory: when it is full, each count is
// lowered by one, and what has none left is forgotten. So what changes most stays, and its
// count is off by missed at most. The zero value is empty.
type hotList struct {
	counts map[string]*hotCount
	bytes  int
	missed uint64
}

type hotCount struct {
	changes uint64
	last    time.Time
}

func (h *hotList) add(key string, now time.Time) {
	if c := h.counts[key]; c != nil {
		c.changes++
		c.last = now
		return
	}
	if h.counts == nil {
		h.counts = map[string]*hotCount{}
	}
	h.counts[key] = &hotCount{1, now}
	h.bytes += len(key) + entryBytes
	if h.bytes > hotBytes {
		h.lower()
	}
}

// lower takes one off each count.
func (h *hotList) lower() {
	h.missed++
	for key, c := range h.counts {
		if c.changes--; c.changes == 0 {
			delete(h.counts, key)
			h.bytes -= len(key) + entryBytes
		}
	}
}

// hotObject is an object that changes often.
type hotObject struct {
	Key     string    `json:"key"`
	Changes uint64    `json:"changes"`
	Last    time.Time `json:"last"`
}

// top returns those with the most changes.
func (h *hotList) top(most int) []hotObject {
	all := make([]hotObject, 0, len(h.counts))
	for key, c := range h.counts {
		all = append(all, hotObject{key, c.changes + h.missed, c.last})
	}
	slices.SortFunc(all, func(a, b hotObject) int {
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), cmp.Compare(a.Key, b.Key))
	})
	return all[:min(most, len(all))]
}
