package engine

// Kind says what happened to an object.
type Kind uint8

const (
	// Added: nothing was delivered of the object yet, or its deletion was.
	Added Kind = iota + 1
	// Updated: the object has a new state.
	Updated
	// Deleted: the object is gone.
	Deleted
	// Resynced: nothing happened; the subscriber asked for a resync, or a replay.
	Resynced

	// resyncEnd follows the last object of a resync in a queue. It is never delivered.
	resyncEnd

	// replayEnd follows each part of a replay in a queue. It is never delivered.
	replayEnd

	// initialEnd follows the last object of the initial list in a queue. It is
	// never delivered; reaching it is what makes a subscriber synced.
	initialEnd
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Added:
		return "added"
	case Updated:
		return "updated"
	case Deleted:
		return "deleted"
	case Resynced:
		return "resynced"
	}
	return "unknown"
}

// Delta is one change of one object, as a subscriber gets it.
type Delta struct {
	Kind Kind
	// Initial: the object was there when the subscriber joined.
	Initial bool
	// FinalStateUnknown: the object was deleted while nobody watched; New is the
	// last state that was seen, not the final one.
	FinalStateUnknown bool
	// resync: a resync of the object was merged into it.
	resync bool
	// Replayed: the subscriber asked for a replay, of which this is a part, or which was
	// merged into it.
	Replayed bool
	// stamp is when it came into the store; see stampOf.
	stamp uint32
	// Old is the state before; nil for Added.
	Old *Record
	// New is the newest state known; for Deleted, the last one.
	New *Record

	// arrived has the object that New came as, if that is not what it is held as.
	arrived *decoding
}

// Arrived returns the object that the new state came as, if it came as one and is held
// as bytes. It is nil for others, for a subscriber that joined later, and for a resync.
func (d Delta) Arrived() any {
	if d.arrived == nil {
		return nil
	}
	return d.arrived.obj
}

// marks reports whether the delta is a mark in the queue, without an object.
func (d *Delta) marks() bool {
	return d.Kind == initialEnd || d.Kind == resyncEnd || d.Kind == replayEnd
}

// weight is what the delta holds in memory as long as it waits: the bytes of its new
// state, and the object that it came as. The old one is mostly that of a delta before.
func (d *Delta) weight() int64 {
	if d.New == nil {
		return deltaSize
	}
	weight := deltaSize + int64(d.New.Packed())
	if d.arrived != nil {
		weight += d.New.decodedWeight()
	}
	return weight
}

// deltaSize is about what a delta itself weighs, with its records.
const deltaSize = 256

// Key is the key of the object.
func (d Delta) Key() string { return d.New.key }
