package cli

import (
	"fmt"
	"strings"
	"sync"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/humane"
)

// totals counts what happened. Its methods may be called by many goroutines.
type totals struct {
	mu      sync.Mutex
	initial int
	kinds   map[kinform.EventType]int
}

func (t *totals) count(kind kinform.EventType, initial bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if initial {
		t.initial++
		return
	}
	if t.kinds == nil {
		t.kinds = map[kinform.EventType]int{}
	}
	t.kinds[kind]++
}

// events is the number of changes, without what was there at the start.
func (t *totals) events() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, k := range t.kinds {
		n += k
	}
	return n
}

// byKind counts the changes: "3 added, 1 updated, 0 deleted".
func (t *totals) byKind() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, k := range []kinform.EventType{kinform.EventAdded, kinform.EventUpdated, kinform.EventDeleted} {
		parts = append(parts, humane.Thousands(t.kinds[k])+" "+string(k))
	}
	return strings.Join(parts, ", ")
}

// holdings is what the informers of some targets hold together.
type holdings struct {
	objects  int
	bytes    int64  // as the servers sent them
	packed   int64  // as they are held
	merged   uint64 // changes that were merged, as they could not be shown in time
	rejected uint64
	waiting  []string // targets that have not synced
}

func holdingsOf(targets []*target) holdings {
	var h holdings
	for _, t := range targets {
		s := t.inf.Status()
		h.objects += s.Objects
		h.bytes += s.Bytes
		h.packed += s.Packed
		h.rejected += s.Rejected
		for _, sub := range s.Subscribers {
			h.merged += sub.Merged
		}
		if !s.Synced {
			h.waiting = append(h.waiting, t.name)
		}
	}
	return h
}

// perObject is how many bytes an object takes.
func (h holdings) perObject() int64 { return h.packed / int64(max(1, h.objects)) }

// summary is the last line of a session.
func (s *session) summary() string {
	h := holdingsOf(s.targets)
	line := fmt.Sprintf("%s (%s) in %s; %s held", humane.Count(s.totals.events(), "event"), s.totals.byKind(),
		short(s.ended.Sub(s.began)), humane.Count(h.objects, "object"))
	if h.merged > 0 {
		line += fmt.Sprintf("; %s merged into later ones, as the output was slow", humane.Thousands(h.merged))
	}
	if h.rejected > 0 {
		line += fmt.Sprintf("; %s could not be read", humane.Count(h.rejected, "object"))
	}
	if len(h.waiting) > 0 {
		line += "; never synced: " + strings.Join(h.waiting, ", ")
	}
	return line
}
