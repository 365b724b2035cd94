package engine

// Kind says what happened to an object.
type Kind uint8

const (
	// Added: the subscriber has not heard of the object, or heard of its end.
	Added Kind = iota + 1
	// Updated: the object has a new state.
	Updated
	// Deleted: the object is gone.
	Deleted
	// Resynced: nothing happened; the subscriber asked to be reminded.
	Resynced

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
	// FinalStateUnknown: the object vanished while nobody watched; New is the
	// last state that was seen, not the last there was.
	FinalStateUnknown bool
	// Old is the state before; nil for Added.
	Old *Record
	// New is the newest state known; for Deleted, the last one.
	New *Record
}

// Key is the key of the object.
func (d Delta) Key() string { return d.New.key }
