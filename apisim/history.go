package apisim

import (
	"sort"
	"sync"

	"github.com/google/btree"
)

type eventKind string

const (
	eventAdded    eventKind = "ADDED"
	eventModified eventKind = "MODIFIED"
	eventDeleted  eventKind = "DELETED"
	eventBookmark eventKind = "BOOKMARK"
	eventError    eventKind = "ERROR"
)

// event is one change of one object.
type event struct {
	kind   eventKind
	object *object // the state after it; of a deletion, the last state with the deletion's version
	before *object // nil if there was none

	frames frames
}

// frames are the encodings of an event that watchers asked for, each made
// once.
type frames struct {
	mu   sync.Mutex
	made []frame
}

type frame struct {
	format format
	kind   eventKind
	data   []byte
}

// get returns the frame for a format, made by encode if nobody asked before.
func (f *frames) get(want format, kind eventKind, encode func() ([]byte, error)) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, have := range f.made {
		if have.format == want && have.kind == kind {
			return have.data, nil
		}
	}
	data, err := encode()
	if err != nil {
		return nil, err
	}
	f.made = append(f.made, frame{format: want, kind: kind, data: data})
	return data, nil
}

func (f *frames) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made = nil
}

// freshFrames is how many of the latest events keep their frames; a watcher
// that lags further behind has them made again.
const freshFrames = 1000

// history is the latest events of a collection, oldest first, in a ring that
// grows up to its limit. Events are numbered without gaps from 0.
type history struct {
	limit int
	ring  []*event
	first uint64 // number of the oldest event kept
	next  uint64 // number of the next event

	// Watches may start at versions from here on.
	watchFloor uint64
	// Lists may ask for exact versions from here on: the version of the
	// latest event that was dropped, or of a compaction.
	listFloor uint64
}

func (h *history) add(e *event) {
	switch {
	case len(h.ring) < h.limit:
		h.ring = append(h.ring, e)
	default:
		oldest := h.ring[h.first%uint64(h.limit)]
		h.listFloor = max(h.listFloor, oldest.object.version)
		h.ring[h.next%uint64(h.limit)] = e
		h.first++
		h.watchFloor = max(h.watchFloor, h.at(h.first).object.version-1)
	}
	h.next++
	if h.next-h.first > freshFrames {
		h.at(h.next - freshFrames - 1).frames.drop()
	}
}

func (h *history) at(number uint64) *event { return h.ring[number%uint64(h.limit)] }

// after returns the number of the first event with a version beyond version.
func (h *history) after(version uint64) uint64 {
	n := sort.Search(int(h.next-h.first), func(i int) bool {
		return h.at(h.first+uint64(i)).object.version > version
	})
	return h.first + uint64(n)
}

// read appends up to limit events from number on to buffer.
func (h *history) read(buffer []*event, number uint64, limit int) []*event {
	for ; number < h.next && len(buffer) < limit; number++ {
		buffer = append(buffer, h.at(number))
	}
	return buffer
}

// rewind undoes in tree all events beyond version, the latest first.
func (h *history) rewind(tree *btree.BTreeG[*object], version uint64) {
	for number := h.next; number > h.first; number-- {
		e := h.at(number - 1)
		if e.object.version <= version {
			return
		}
		if e.before == nil {
			tree.Delete(e.object)
		} else {
			tree.ReplaceOrInsert(e.before)
		}
	}
}

// forget raises the floors, so that nothing before version can be asked for.
// The events stay for the watches that are running.
func (h *history) forget(version uint64) {
	h.watchFloor = max(h.watchFloor, version)
	h.listFloor = max(h.listFloor, version)
}
